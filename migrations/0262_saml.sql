-- Assertions that were used, until they are no longer valid: none signs anybody in twice, in whatever process.
create table saml_used_assertion (
  -- sha256 of issuer and id.
  hash bytea not null,
  expires_at timestamptz not null,
  constraint saml_used_assertion_pkey primary key (hash)
);
create index saml_used_assertion_expires_idx on saml_used_assertion (expires_at);
comment on table saml_used_assertion is 'SAML assertions that were used, until they expire';
