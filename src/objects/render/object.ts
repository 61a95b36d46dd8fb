/** Renders one stored object in its wire form; its links are registered, to be filled in later. */
import type { ColumnField, Mask, NestedField, ReverseField } from '../../datamodel/model.ts'
import { sortRows } from '../content/nested-sort.ts'
import { mayUseMask, standardMask } from '../masks/preference.ts'
import { type FieldSink, filteredReader, type Reader, readerOf, type Wire } from '../masks/reader.ts'
import { standardText } from '../standard/compute.ts'
import { rowsOf } from '../stored/content.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import { inheritInto } from './inheritance.ts'
import { below, inChain, levelsBelow, linkFormat, type Nesting } from './nesting.ts'
import { contentBytes, frameBytes, shortBytes } from './parts.ts'
import { maySee, type Run, reverseKey } from './run.ts'
import { goneObject, hiddenObject, setBlockFields, sharedShort, systemFields, trashedObject } from './system-fields.ts'

/** An object with system fields, block and fields; its links are registered, to be filled in later. */
export function renderObject(run: Run, object: Loaded, mask: Mask, nesting: Nesting): Wire {
  const { format } = nesting
  const wire = systemFields(run, object, mask, format, nesting.top)
  const reader = readerFor(run, mask, nesting)
  const block = reader.block()
  setBlockFields(run, block, object, mask, wire)
  wire[object.table.name] = block
  const content = format.inherited ? inheritInto(run, object, reader, block) : object.content
  reader.read(content, block, sinkOf(run, object, nesting))
  return wire
}

const filtered = new WeakMap<Run, Map<Mask, Reader>>()

function readerFor(run: Run, mask: Mask, nesting: Nesting): Reader {
  const { keep } = run.options
  if (!keep || !nesting.top) return readerOf(mask)
  const ofRun = filtered.get(run) ?? new Map<Mask, Reader>()
  filtered.set(run, ofRun)
  const reader = ofRun.get(mask) ?? filteredReader(mask, keep)
  ofRun.set(mask, reader)
  return reader
}

function sinkOf(run: Run, object: Loaded, nesting: Nesting): FieldSink {
  return {
    empty: nesting.format.full,
    languages: run.options.languages,
    link: (holder, key, id, field) => wantLink(run, nesting, holder, key, id, field),
    reverse: (holder, key, field) => wantReverse(run, nesting, object, holder, key, field),
    files: (holder, key, files) => {
      const named = run.deps.namesFiles(object.table.id) ? object.uuid : null
      run.files.push({ holder, key, files, object: named, uuid: object.uuid })
    },
    rows: (holder, key, content, field) => sortLater(run, holder, key, rowsOf(content, field.table), field),
  }
}

function wantLink(run: Run, nesting: Nesting, holder: Wire, key: string, id: number, field: ColumnField): void {
  const target = field.column.target
  if (!target) return
  const format = linkFormat(run, nesting, id, target.inMainSearch)
  const known = format.fields || nesting.asOf !== null ? undefined : shortLink(run, id, field.linkMask)
  if (known !== undefined) {
    holder[key] = known
    return
  }
  const merged = format === nesting.format
  run.wants.push({
    id,
    asOf: nesting.asOf,
    content: format.fields,
    done: (found) => {
      if (!found) holder[key] = goneObject(run, id, target)
      else holder[key] = renderLinked(run, found, field.linkMask, below(nesting, id, format, merged))
    },
  })
}

/** The linked object in its short form, if it is already loaded. */
function shortLink(run: Run, id: number, linkMask: Mask | null): Wire | string | undefined {
  const known = run.shortLinks.get(id)
  if (known?.linkMask === linkMask) return known.wire
  const found = run.loaded.get(id) ?? run.heads.get(id)
  if (!found) return undefined
  const wire = renderShort(run, found, linkMask)
  run.shortLinks.set(id, { linkMask, wire })
  return wire
}

function renderShort(run: Run, object: Head | Loaded, linkMask: Mask | null): Wire | string {
  if (!run.caller.root && !run.caller.may('read', object.guard)) return hiddenObject(run, object)
  const mask = linkedMask(run, object, linkMask)
  return isTrashed(object, null) ? trashedObject(run, object, mask) : sharedShort(run, object, mask)
}

function linkedMask(run: Run, object: Head | Loaded, linkMask: Mask | null): Mask {
  return linkMask?.table === object.table ? linkMask : standardMask(run, object)
}

const maskNumbers = new WeakMap<Mask, number>()
let lastMaskNumber = 0

function numberOf(mask: Mask): number {
  let number = maskNumbers.get(mask)
  if (number === undefined) {
    number = ++lastMaskNumber
    maskNumbers.set(mask, number)
  }
  return number
}

/**
 * A key of everything that decides how a linked object is shown whole. The objects around it matter only if they could appear in
 * it.
 */
function sharedKey(object: Loaded, mask: Mask, nesting: Nesting, links: readonly number[]): string {
  const { format, mergeLeft, inReverse, asOf } = nesting
  const levels = levelsBelow(nesting)
  const around: number[] = []
  if (levels > 0) {
    for (let link = nesting.chain.up; link; link = link.up) {
      if (levels > 1 || format.inherited || links.includes(link.id)) around.push(link.id)
    }
  }
  return `${object.systemObjectId}.${object.version}.${numberOf(mask)}.${format.name}.${mergeLeft}.${inReverse}.${asOf}.${around}`
}

/** The linked object, or the token of its part. */
function renderLinked(run: Run, object: Head | Loaded, linkMask: Mask | null, nesting: Nesting): Wire | string {
  if (!run.caller.root && !run.caller.may('read', object.guard)) return hiddenObject(run, object)
  const mask = linkedMask(run, object, linkMask)
  if (isTrashed(object, nesting.asOf)) return trashedObject(run, object, mask)
  if (nesting.format.fields && !('content' in object)) run.parts.noteShort(nesting.part.times)
  const shown = nesting.format.fields && 'content' in object && mayUseMask(run, mask, object)
  return (shown && renderWhole(run, object, mask, nesting)) || sharedShort(run, object, mask)
}

/** The token of the part that shows the object whole; null when there is no room for it. */
function renderWhole(run: Run, object: Loaded, mask: Mask, nesting: Nesting): string | null {
  const { times } = nesting.part
  const links = readerOf(mask).links(object.content)
  const key = sharedKey(object, mask, nesting, links)
  const known = run.shared.get(key)
  if (known !== undefined) {
    const part = run.parts.part(known)
    if (!run.parts.takePlaces(times, Math.max(part.bytes, part.expected), 0)) return null
    part.times += times
    return run.parts.token(known)
  }
  const bytes = contentBytes(object.content) + frameBytes
  const linkBytes = links.length * shortBytes
  if (!run.parts.takePlaces(times, bytes, linkBytes)) return null
  const number = run.parts.add(times, bytes + linkBytes)
  const part = run.parts.part(number)
  run.shared.set(key, number)
  part.wire = renderObject(run, object, mask, { ...nesting, part })
  return run.parts.token(number)
}

function isTrashed(object: Head | Loaded, asOf: number | null): boolean {
  return asOf === null ? object.deletedAt !== null : 'operation' in object && object.operation === 'd'
}

/** Objects below are part of the object, so they are shown whole: in its format and with the mask of the field. */
function wantReverse(run: Run, nesting: Nesting, object: Loaded, holder: Wire, key: string, field: ReverseField): void {
  if (run.options.skipReverseNested || !nesting.owned) return
  const list: string[] = []
  holder[key] = list
  const column = field.column?.id ?? null
  if (run.below.get(reverseKey(column, object.systemObjectId))?.length === 0) return
  run.reverses.push({
    to: object.systemObjectId,
    column,
    asOf: nesting.asOf,
    done: (found) => {
      for (const entry of found) {
        if (entry.table !== field.table || inChain(nesting.chain, entry.systemObjectId)) continue
        // Children of an object in the trash were moved there with it; otherwise objects in the trash are not shown.
        if (nesting.asOf === null && entry.deletedAt && !object.deletedAt) continue
        if (!maySee(run.caller, entry)) continue
        const chain = { id: entry.systemObjectId, up: nesting.chain }
        const bytes = contentBytes(entry.content) + frameBytes
        run.parts.spend(bytes)
        const number = run.parts.add(1, bytes)
        const part = run.parts.part(number)
        part.wire = renderObject(run, entry, field.mask, { ...nesting, top: false, inReverse: true, chain, part })
        if (entry.childIdx !== null) part.wire._child_idx = entry.childIdx
        list.push(run.parts.token(number))
      }
    },
  })
}

/** Rows that are sorted by a linked object are sorted when that object is loaded. */
function sortLater(run: Run, holder: Wire, key: string, rows: ReturnType<typeof rowsOf>, field: NestedField): void {
  const sort = (): void => {
    const wire = holder[key] as Wire[]
    const byRow = new Map(rows.map((row, index) => [row, wire[index]]))
    const text = (id: number): string | undefined => {
      const linked = run.heads.get(id) ?? run.loaded.get(id)
      // The order must not reveal values that the rows do not show.
      if (!linked || !(run.caller.root || run.caller.may('read', linked.guard))) return undefined
      return standardText(linked.standard, run.actor.languages)
    }
    holder[key] = sortRows(field, rows, text).map((row) => byRow.get(row))
  }
  if (field.sort.some(({ column }) => column.type === 'link')) run.last.push(sort)
  else sort()
}
