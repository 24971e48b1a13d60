import { header } from "../ui.js";

export const title = "Refusals";

export async function show(main) {
  main.append(header(title));
}
