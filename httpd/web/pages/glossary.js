// The glossary.

import { explained, header } from "../elements.js";
import { words } from "../words.js";

export const title = "Glossary";

export function show(main) {
  main.append(
    header(title, { about: "What the words mean that these pages, the command and the log use." }),
    explained(words, Object.keys(words)),
  );
}
