import { header } from "../ui.js";

export const title = "Keys";

export async function show(main) {
  main.append(header(title));
}
