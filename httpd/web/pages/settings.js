import { header } from "../ui.js";

export const title = "Settings";

export async function show(main) {
  main.append(header(title));
}
