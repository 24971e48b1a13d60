import { header } from "../ui.js";

export const title = "Audit log";

export async function show(main) {
  main.append(header(title));
}
