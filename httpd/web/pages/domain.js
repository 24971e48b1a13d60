import { header } from "../ui.js";

export const title = "Domain";

export async function show(main) {
  main.append(header(title));
}
