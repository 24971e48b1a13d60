-- The nonce of the message of a probe, as email.nonce; '': a probe from before.
ALTER TABLE probe ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
