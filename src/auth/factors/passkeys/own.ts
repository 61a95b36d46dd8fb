import type { Actor } from '../../../platform/actor.ts'
import type { Db } from '../../../platform/db.ts'
import { listPasskeys } from './store.ts'

/** The passkeys of the caller. They change on pages only, behind a whole sign-in: a token alone is too little for that. */
export async function ownPasskeys(db: Db, actor: Actor) {
  return (await listPasskeys(db, actor.userId)).map((passkey) => ({
    _id: passkey.id,
    name: passkey.name,
    backed_up: passkey.backedUp,
    created_at: passkey.createdAt.toISOString(),
    ...(passkey.lastUsedAt ? { last_used_at: passkey.lastUsedAt.toISOString() } : {}),
  }))
}
