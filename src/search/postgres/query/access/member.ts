/** Membership of objects in collections: it is stored in a table of its own, not in documents. */
import { hash } from 'node:crypto'
import type { ObjectSet } from '../../../../rights/service.ts'
import type { Member } from '../sql/tsquery.ts'

/** Up to this number, the objects are listed in the statement. */
const mostListed = 200

/**
 * Whether an object is in one of the collections, by its id under the alias; without parameters. When one of the lists changes, the
 * rights of a caller change too, and with them the keys of all cached results of searches. So it counts as a condition on documents
 * alone.
 */
export function memberSql({ collections, objects }: Omit<Member, 'op'>, alias: string): string {
  if (objects.size <= mostListed) {
    return `${alias}.id = any('{${objects.lists.map((ids) => ids.join()).join()}}'::bigint[])`
  }
  // Texts of statements are part of cache keys, so another list needs another text. An object is in few collections: `+ 0` makes
  // PostgreSQL look these up by the object alone and compare them with a hashed list, instead of asking the index once for each of
  // 500 collections.
  return `exists (select from collection_object member where member.object_id = ${alias}.id
    and member.collection_id + 0 = any('{${collections.map(Number)}}'::bigint[]) /* ${digestOf(objects)} */)`
}

const digests = new WeakMap<ObjectSet, string>()

function digestOf(objects: ObjectSet): string {
  const known = digests.get(objects) ?? hash('sha1', objects.toJSON(), 'base64url')
  digests.set(objects, known)
  return known
}
