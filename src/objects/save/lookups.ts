import { AppError } from '../../platform/errors.ts'
import type { LinkRef } from '../content/link-ref.ts'
import { printable } from '../content/values.ts'
import type { SaveContext } from './context.ts'
import { exists, showsColumn } from './disclosure.ts'
import { asGuarded, type ExistingObject, guardColumns } from './existing-object.ts'
import { lookupKey, uniqueValue } from './rules/unique.ts'

/** A reference by the value of a column. */
export type LookupRef = LinkRef & { readonly by: 'lookup' }

export function isLookup(ref: LinkRef): ref is LookupRef {
  return ref.by === 'lookup'
}

/** Equal names look up the same object. */
export function lookupName(ref: LookupRef): string {
  return `l${ref.column.key}:${JSON.stringify(ref.value)}`
}

/**
 * Whether the caller may find the object by the column: it may read it, and with a mask that shows the column. Otherwise a caller
 * could find out values that it may not see, by looking up one guess after the other.
 */
export function mayFind(
  context: Pick<SaveContext, 'deps' | 'rights'>,
  { table, column }: LookupRef,
  object: Candidate,
): boolean {
  return exists(context.rights, object) && showsColumn(context, table, object, column)
}

/**
 * System object ids by `lookupName`: through the unique key where there is one (the found object must still pass `mayFind`), else
 * through the contents.
 * @throws {AppError} `LookupFoundTooMany` when several objects that the caller may find have the value.
 */
export async function resolveLookups(
  context: Pick<SaveContext, 'deps' | 'tx' | 'model' | 'rights'>,
  refs: readonly LookupRef[],
): Promise<Map<string, number>> {
  const result = new Map<string, number>()
  await resolveUnique(
    context,
    refs.flatMap((ref) => {
      const key = lookupKey(ref.column)
      return key ? [{ ref, key: key.key, value: uniqueValue([ref.value]) }] : []
    }),
    result,
  )
  await scan(
    context,
    refs.filter((ref) => !lookupKey(ref.column)),
    result,
  )
  return result
}

async function resolveUnique(
  { tx }: Pick<SaveContext, 'tx'>,
  wanted: readonly { readonly ref: LookupRef; readonly key: string; readonly value: string }[],
  result: Map<string, number>,
): Promise<void> {
  if (wanted.length === 0) return
  const { rows } = await tx.query<{ n: number; id: number }>(
    `select x.n, u.system_object_id as id
     from unnest($1::text[], $2::text[]) with ordinality as x(key, value, n)
     join object_unique u on u.key = x.key and u.value = x.value`,
    [wanted.map(({ key }) => key), wanted.map(({ value }) => value)],
    'resolve-unique',
  )
  for (const row of rows) {
    const entry = wanted[row.n - 1]
    if (entry) result.set(lookupName(entry.ref), row.id)
  }
}

/** Candidates per value: two are enough to detect ambiguity, but the caller may not have the right to find the first ones. */
const firstRound = 2
const growth = 100
/** Candidates of all values together. */
const largestRound = 50_000

/** Values of columns without unique key, all with one statement a round; a further round only for values with more candidates. */
async function scan(
  context: Pick<SaveContext, 'deps' | 'tx' | 'model' | 'rights'>,
  refs: readonly LookupRef[],
  result: Map<string, number>,
): Promise<void> {
  let open = refs.map((ref) => ({ ref, after: 0, matches: [] as number[] }))
  for (let wanted = firstRound; open.length > 0; wanted *= growth) {
    const limit = Math.max(firstRound, Math.min(wanted, Math.floor(largestRound / open.length)))
    const candidates = Map.groupBy(await candidatesOf(context, open, limit), ({ n }) => n)
    open = open.filter((entry, index) => {
      const mine = candidates.get(index + 1) ?? []
      for (const object of mine) if (mayFind(context, entry.ref, object)) entry.matches.push(object.systemObjectId)
      if (entry.matches.length > 1) throw foundTooMany(entry.ref)
      entry.after = mine.at(-1)?.id ?? 0
      const more = mine.length === limit
      if (!more && entry.matches[0] !== undefined) result.set(lookupName(entry.ref), entry.matches[0])
      return more
    })
  }
}

type Candidate = Omit<ExistingObject, 'version' | 'uuid' | 'parents' | 'standard' | 'deletedAt'>

async function candidatesOf(
  { tx, model }: Pick<SaveContext, 'tx' | 'model'>,
  wanted: readonly { readonly ref: LookupRef; readonly after: number }[],
  limit: number,
): Promise<(Candidate & { readonly n: number })[]> {
  const { rows } = await tx.query<Candidate & { readonly n: number }>(
    `select x.n, f.* from unnest($1::int[], $2::text[], $3::jsonb[], $4::bigint[])
       with ordinality as x(objecttype, column_key, value, after, n)
     cross join lateral (
       select ${guardColumns} from object o
       join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
        and v.content -> x.column_key = x.value
       where o.objecttype = x.objecttype and o.deleted_at is null and o.id > x.after
       order by o.objecttype, o.id limit $5
     ) f order by x.n, f.id`,
    [
      wanted.map(({ ref }) => ref.table.id),
      wanted.map(({ ref }) => ref.column.key),
      wanted.map(({ ref }) => JSON.stringify(ref.value)),
      wanted.map(({ after }) => after),
      limit,
    ],
    'resolve-scan',
  )
  return rows.map((row) => asGuarded(model.tablesById, row))
}

function foundTooMany({ place, column, value }: LookupRef): AppError {
  return new AppError('LookupFoundTooMany', { name: place, column: column.fullName, value: printable(value) })
}
