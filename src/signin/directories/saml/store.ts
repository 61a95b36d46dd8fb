import type { Queryable } from '../../../platform/postgres/db.ts'
import { tokenHash } from '../../sessions/token.ts'

/** Records the use of an assertion; false: it was used before. */
export async function useAssertion(db: Queryable, id: string, expiresAt: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    'insert into saml_used_assertion (hash, expires_at) values ($1, $2) on conflict do nothing',
    [tokenHash(id), expiresAt],
    'saml_use',
  )
  await db.query(
    `delete from saml_used_assertion where hash in
       (select hash from saml_used_assertion where expires_at < now() limit 10 for update skip locked)`,
    [],
    'saml_clean',
  )
  return rowCount === 1
}
