import { header } from "../ui.js";

export const title = "Users";

export async function show(main) {
  main.append(header(title));
}
