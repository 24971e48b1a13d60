import { header } from "../ui.js";

export const title = "Domains";

export async function show(main) {
  main.append(header(title));
}
