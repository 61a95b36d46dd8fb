/** Grants with references to deleted things, from all places: for administrators, who then change or remove them. */
import type { Actor } from '../../platform/actor.ts'
import { type NeededRight, requireRight } from '../../platform/http/system-right.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { renderAcl } from '../acl.ts'
import { type FindPeople, whoNames } from '../who.ts'
import { findInvalid, type GrantStore, type ModelNames, type NamedTables } from './find.ts'
import type { InvalidGrants, InvalidQuery } from './schema.ts'

/** Grants disclose the rights of all users everywhere. */
export const seeAllGrants: NeededRight = { name: 'system.root' }

export interface InvalidDeps {
  readonly db: Db
  readonly stores: readonly GrantStore[]
  readonly tables: NamedTables
  readonly model: () => ModelNames
  readonly findPeople: FindPeople
}

export type InvalidGrantService = ReturnType<typeof createInvalidGrantService>

export function createInvalidGrantService({ db, stores, tables, model, findPeople }: InvalidDeps) {
  return {
    async list(actor: Actor, { limit, offset }: InvalidQuery): Promise<InvalidGrants> {
      requireRight(actor, seeAllGrants)
      const found = await findInvalid(db, stores, tables, model(), { limit, offset })
      const principals = found.map(({ grant }) => grant.who)
      const names = await whoNames(db, findPeople, principals, actor.languages)
      const grants = renderAcl(
        found.map(({ grant }) => grant),
        names,
      )
      const objects = found.map(({ kind, id, missing }, index) => ({
        on: { kind, _id: id },
        grant: grants[index] ?? {},
        missing: missing.map(({ what, ref }) =>
          what === 'right' ? { what, name: `${ref}` } : { what, _id: Number(ref) },
        ),
      }))
      return { count: found[0]?.count ?? 0, limit, offset, objects }
    },
  }
}
