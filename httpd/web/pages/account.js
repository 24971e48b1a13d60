import { header } from "../ui.js";

export const title = "Account";

export async function show(main) {
  main.append(header(title));
}
