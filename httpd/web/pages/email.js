import { header } from "../ui.js";

export const title = "Email";

export async function show(main) {
  main.append(header(title));
}
