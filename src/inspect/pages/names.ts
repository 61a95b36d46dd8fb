import { namesOfUsers } from '../../people/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { textIn } from '../../platform/values/localized.ts'
import type { PageDeps } from './deps.ts'

/** The names of records on pages, by their numbers. */
export interface Names {
  objecttype(id: number): string
  pool(id: number | null): string
  user(id: number | null): string
}

export async function namesFor(
  { db, datamodel, pools, baseConfig }: Pick<PageDeps, 'db' | 'datamodel' | 'pools' | 'baseConfig'>,
  users: readonly (number | null)[] = [],
): Promise<Names> {
  const known = await namesOfUsers(db as Queryable, [...new Set(users.filter((id) => id !== null))])
  const model = datamodel.current()
  const languages = baseConfig.databaseLanguages()
  return {
    objecttype: (id) => model.tablesById.get(id)?.name ?? `${id}`,
    pool(id) {
      if (id === null) return ''
      const pool = pools.snapshot().get(id)
      return pool ? textIn(pool.name, languages) || pool.reference || `${id}` : `${id}`
    },
    user: (id) => (id === null ? '' : (known.get(id) ?? `${id}`)),
  }
}
