/** What has changed, from the documents and from who could see those that moved or went. */
import type { ChangedObject, ChangesPage, ChangesWindow } from '../../../src/search/plan/plan.ts'
import type { MemoryDocument } from './documents.ts'
import { isInScope } from './match.ts'
import type { Asked } from './text.ts'
import { isReadable, mayRead } from './visibility.ts'

/** A document as it was until that moment. */
export interface Former {
  readonly before: MemoryDocument
  readonly until: number
}

export function changesOf(
  { since, until: wanted, after, limit }: ChangesWindow,
  asked: Asked,
  former: readonly Former[],
  latest: number,
): ChangesPage {
  const { scope, fields, fieldVisibility } = asked.plan
  const until = wanted === null ? latest : Math.min(latest, wanted)
  const isInside = (at: number): boolean => at <= until && (since === null || at >= since)
  const types = scope.objecttypes ?? [...fields.types.keys()]
  const isFound = (document: MemoryDocument): boolean => isInScope(scope, document, asked)
  const isKnown = (document: MemoryDocument): boolean =>
    isFound(document) || (!document.source.deleted && mayRead(fieldVisibility, document))
  const told = new Map<number, ChangedObject>()
  for (const document of asked.all.values()) {
    const { id, changedAt: at, source } = document
    if (!types.includes(source.objecttype) || !isInside(at)) continue
    const there = isFound(document)
    if (there || (since !== null && isKnown(document))) told.set(id, { id, at, there })
  }
  for (const { before, until: at } of since === null ? [] : former) {
    const { id, source } = before
    const now = asked.all.get(id)
    if (!types.includes(source.objecttype) || !isInside(at) || !isReadable(fieldVisibility.rights, before)) continue
    if (now && isKnown(now)) continue
    told.set(id, { id, at: Math.max(at, told.get(id)?.at ?? 0), there: false })
  }
  const isBehind = ({ at, id }: ChangedObject): boolean =>
    after === null || at > after.at || (at === after.at && id > after.id)
  const objects = [...told.values()]
    .filter(isBehind)
    .sort((a, b) => a.at - b.at || a.id - b.id)
    .slice(0, limit)
  const last = objects.at(-1)
  return { objects, until, next: last && objects.length === limit ? { at: last.at, id: last.id } : null }
}
