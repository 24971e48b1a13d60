import { header } from "../ui.js";

export const title = "Overview";

export async function show(main) {
  main.append(header(title));
}
