import { header } from "../ui.js";

export const title = "Exemptions";

export async function show(main) {
  main.append(header(title));
}
