import { header } from "../ui.js";

export const title = "Emails";

export async function show(main) {
  main.append(header(title));
}
