import { eachInTurns, type Pauses } from '../../../platform/pauses.ts'
import { forEachLink } from '../../content/links.ts'
import { reverseKey } from '../../render/run.ts'
import type { Item } from '../item.ts'

/**
 * Reverse fields of new objects that stay empty (`reverseKey`): what links to a new object is in the same save, so nobody
 * has to be asked.
 */
export async function emptyReverses(
  shown: readonly Item[],
  saved: readonly Item[],
  pauses: Pauses,
): Promise<ReadonlySet<string>> {
  const fresh = shown.filter(
    (item) => item.mode === 'create' && item.mask.fields.some(({ kind }) => kind === 'reverse'),
  )
  if (fresh.length === 0) return new Set()
  const linked = new Set<string>()
  const look = ({ table, content, parents }: Item): void => {
    forEachLink(table, content, (column, to) => linked.add(reverseKey(column.id, to)))
    for (const parent of parents) linked.add(reverseKey(null, parent))
  }
  await eachInTurns(saved, look, pauses)
  const keysOf = ({ mask, systemObjectId }: Item): string[] =>
    mask.fields.flatMap((field) =>
      field.kind === 'reverse' ? [reverseKey(field.column?.id ?? null, systemObjectId)] : [],
    )
  return new Set(fresh.flatMap(keysOf).filter((key) => !linked.has(key)))
}
