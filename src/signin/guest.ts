import { guestReference } from '../platform/limits/callers.ts'
import type { Db } from '../platform/postgres/db.ts'

/** The user that represents all guests, created when the first one comes. */
const guest = { id: 5, reference: guestReference, displayname: 'Guest' } as const

export async function guestUserId(db: Db): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `select id from "user" where reference = $1 and type = 'anonymous'`,
    [guest.reference],
    'guest_user',
  )
  if (rows[0]) return rows[0].id
  await db.query(
    `insert into "user" (id, type, reference, generated_displayname, profile)
     values ($1, 'anonymous', $2, $3, jsonb_build_object('displayname', $3::text)) on conflict do nothing`,
    [guest.id, guest.reference, guest.displayname],
  )
  return guest.id
}
