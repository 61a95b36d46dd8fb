/** Membership of objects in collections: it is stored in a table of its own, not in documents. */
import { hash } from 'node:crypto'
import { mostListed, type ObjectSet } from '../../../../rights/service.ts'
import type { Member } from '../sql/tsquery.ts'

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

/**
 * The same with a parameter: a bit for each id, where that takes no more room than the lists. To look at a bit takes PostgreSQL a
 * fraction of what it takes to ask an index for each match.
 */
export function memberBitsSql(
  member: Omit<Member, 'op'>,
  alias: string,
  value: (value: Buffer, type: string) => string,
): string {
  const bits = member.objects.bits()
  if (!bits) return memberSql(member, alias)
  const last = bits.first + 8 * bits.bytes.length - 1
  return `case when ${alias}.id between ${bits.first} and ${last}
    then get_bit(${value(bits.bytes, 'bytea')}, (${alias}.id - ${bits.first})::int) = 1 else false end`
}

const digests = new WeakMap<ObjectSet, string>()

function digestOf(objects: ObjectSet): string {
  const known = digests.get(objects) ?? hash('sha1', objects.toJSON(), 'base64url')
  digests.set(objects, known)
  return known
}
