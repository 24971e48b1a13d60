-- Tables by the words of doc/GLOSSARY.md.
ALTER TABLE hop RENAME TO queue_message;
ALTER TABLE postfix_news RENAME TO postfix_notes;
