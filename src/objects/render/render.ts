/**
 * Stored objects to wire objects. Vocabulary: a *run* is one response; objects asked for themselves are *on top*;
 * everything else is there because it is linked, stands below (reverse-nested, children) or above (parents, path).
 *
 * Rendering is breadth first. An object is rendered as soon as its content is there, with empty places for what it
 * links to; then all places of all objects are loaded together and filled, which announces the next depth. So a
 * page takes a constant number of statements per depth, whatever the number of objects. A long answer is rendered in
 * pages, and each is written before the next is loaded, so that memory holds what is answered and not what it is made
 * from. How much an answer may hold is counted while it is made (parts.ts).
 */
import type { ColumnField, Mask, NestedField, ReverseField } from '../../datamodel/model.ts'
import type { JsonAnswer } from '../../platform/json-body.ts'
import { inheritInto, loadInheritance } from '../content/inheritance.ts'
import { rowsOf } from '../content/stored.ts'
import { type FieldSink, filteredReader, type Reader, readerOf, type Wire } from '../masks/reader.ts'
import { appliedMergeDepth, type Format, formats } from '../read/formats.ts'
import { type LoadedReverse, loadAsOf, loadChildren, loadHeads, loadLatest, loadReverses } from '../read/load.ts'
import type { Head, Loaded } from '../read/stored-rows.ts'
import { standardText } from '../standard/compute.ts'
import { finish } from './finish.ts'
import { sortRows } from './nested-sort.ts'
import { type AnswerLimits, contentBytes, frameBytes, type Part, shortBytes } from './parts.ts'
import {
  asOfKey,
  type Known,
  maySee,
  nothingKnown,
  type RenderOptions,
  type ReverseWant,
  type Run,
  reverseKey,
  startRun,
  type Want,
} from './run.ts'
import { mayUseMask, standardMask } from './shown-mask.ts'
import {
  blockFields,
  goneObject,
  hiddenObject,
  sharedShort,
  shortObject,
  systemFields,
  trashedObject,
} from './system-fields.ts'

export { defaultOptions, type Known, maySee, type RenderDeps, type RenderOptions, reverseKey } from './run.ts'

/** An object to be shown, already allowed to the actor, and the mask that shapes it; a head is enough for `short`. */
export interface RenderItem {
  readonly object: Head | Loaded
  readonly mask: Mask
}

/** Where an object is rendered: how, how deep, and below which others. */
interface Place {
  readonly format: Format
  /** How many further levels of links are embedded whole. */
  readonly mergeLeft: number
  readonly top: boolean
  /** Part of an object on top: itself, or below it. Only these show what is below them. */
  readonly owned: boolean
  /** Somewhere inside an object below. */
  readonly inReverse: boolean
  readonly asOf: number | null
  /** The object itself and those around it, innermost first: an object is never embedded in itself. */
  readonly chain: Chain
  /** The part of the answer that it stands in. */
  readonly part: Part
}

interface Chain {
  readonly id: number
  readonly up: Chain | null
}

/** A last change to an object that was asked for itself. */
export type Shape = (wire: Wire, item: RenderItem) => Wire

/** Renders the items of all pages in their order as one JSON array; a page is loaded when those before it are written. */
export async function renderAnswer(
  base: Pick<Run, 'deps' | 'q' | 'model' | 'actor' | 'caller' | 'pauses'> & { readonly options: RenderOptions },
  limits: AnswerLimits,
  pages: AsyncIterable<readonly RenderItem[]> | Iterable<readonly RenderItem[]>,
  { known = nothingKnown, shape }: { known?: Known | undefined; shape?: Shape | undefined } = {},
): Promise<JsonAnswer> {
  const run = startRun(base, limits, known)
  for await (const items of pages) {
    const tops = await renderPage(run, items)
    if (shape) {
      for (const [index, top] of tops.entries()) {
        const part = run.parts.part(top)
        part.wire = shape(part.wire as Wire, items[index] as RenderItem)
      }
    }
    await run.parts.write(tops, run.pauses)
    for (const { object } of items) run.loaded.delete(object.systemObjectId)
    if (run.loaded.size > mostRemembered) run.loaded.clear()
    run.past.clear()
  }
  return { body: run.parts.end(), short: run.parts.short }
}

/** Linked objects that are kept for the next page, and those that are loaded with one statement. */
const mostRemembered = 2000
const mostAtOnce = 1000

/** Renders objects that were asked for; their numbers among the parts. */
async function renderPage(run: Run, items: readonly RenderItem[]): Promise<number[]> {
  for (const { object } of items) {
    if (isLatest(object)) run.loaded.set(object.systemObjectId, object)
  }
  const { format } = run.options
  if (format.inherited) {
    await loadInheritance(
      run,
      items.map((item) => item.object),
    )
  }
  const tops: number[] = []
  for (const { object, mask } of items) {
    if (run.pauses.due()) await run.pauses.take()
    tops.push(renderTop(run, object, mask))
  }
  while (run.wants.length > 0 || run.reverses.length > 0) await nextDepth(run)
  await finish(run)
  return tops
}

function renderTop(run: Run, object: Head | Loaded, mask: Mask): number {
  const whole = run.options.format.fields && 'content' in object
  const bytes = whole ? contentBytes(object.content) + frameBytes : shortBytes
  run.parts.spend(bytes)
  const number = run.parts.add(1, bytes)
  const part = run.parts.part(number)
  part.wire = whole ? renderObject(run, object, mask, topPlace(run, object, part)) : shortObject(run, object, mask)
  return number
}

function isLatest(object: Head | Loaded): object is Loaded {
  return 'content' in object && object.version === object.latestVersion
}

function topPlace({ options }: Run, object: Loaded, part: Part): Place {
  const isPast = object.version !== object.latestVersion && !options.latestLinked
  return {
    format: options.format,
    mergeLeft: appliedMergeDepth(options.mergeLinkedObjects, options.mergeMaxDepth),
    top: true,
    owned: true,
    inReverse: false,
    asOf: isPast ? object.at.getTime() : null,
    chain: { id: object.systemObjectId, up: null },
    part,
  }
}

/** Loads what the places of the last depth wait for and fills them. */
async function nextDepth(run: Run): Promise<void> {
  const { wants, reverses } = run
  run.wants = []
  run.reverses = []
  const [first = [], ...rest] = inGroups(wants)
  const [below] = await Promise.all([loadBelow(run, reverses), loadWanted(run, first)])
  await fill(run, first, below)
  for (const [index, want] of reverses.entries()) {
    if (run.pauses.due()) await run.pauses.take()
    want.done(below[index] ?? [])
  }
  for (const group of rest) {
    await loadWanted(run, group)
    await fill(run, group, [])
  }
}

/** Fills places with what was loaded for them. */
async function fill(run: Run, wants: readonly Want[], below: readonly (readonly Loaded[])[]): Promise<void> {
  if (run.options.format.inherited) {
    const arrived = wants.filter((want) => want.content).flatMap((want) => run.loaded.get(want.id) ?? [])
    await loadInheritance(run, [...arrived, ...below.flat()])
  }
  for (const want of wants) {
    if (run.pauses.due()) await run.pauses.take()
    want.done(found(run, want))
  }
}

/** Wants in their order, so that no group asks for very many contents: those are in memory until all is filled. */
function inGroups(wants: readonly Want[]): (readonly Want[])[] {
  if (wants.length <= mostAtOnce) return [wants]
  const groups: Want[][] = [[]]
  let contents = new Set<number>()
  for (const want of wants) {
    if (want.content) contents.add(want.id)
    if (contents.size > mostAtOnce) {
      contents = new Set([want.id])
      groups.push([])
    }
    groups.at(-1)?.push(want)
  }
  return groups
}

function found(run: Run, { id, asOf }: Want): Head | Loaded | undefined {
  if (asOf !== null) return run.past.get(asOfKey(id, asOf))
  return run.loaded.get(id) ?? run.heads.get(id)
}

async function loadWanted(run: Run, wants: readonly Want[]): Promise<void> {
  const contents = new Set<number>()
  const heads = new Set<number>()
  const past = new Map<string, { id: number; asOf: number }>()
  for (const { id, asOf, content } of wants) {
    if (asOf !== null) {
      if (!run.past.has(asOfKey(id, asOf))) past.set(asOfKey(id, asOf), { id, asOf })
    } else if (content && run.parts.hasRoom) {
      if (!run.loaded.has(id)) contents.add(id)
    } else if (!run.heads.has(id) && !run.loaded.has(id)) heads.add(id)
  }
  for (const id of contents) heads.delete(id)
  const moments = [...past.values()]
  const [loaded, headsFound, pastFound] = await Promise.all([
    loadLatest(run.q, run.model, [...contents]),
    loadHeads(run.q, run.model, [...heads]),
    loadAsOf(
      run.q,
      run.model,
      moments.map(({ id }) => id),
      moments.map(({ asOf }) => new Date(asOf)),
    ),
  ])
  for (const object of loaded) run.loaded.set(object.systemObjectId, object)
  for (const head of headsFound) run.heads.set(head.systemObjectId, head)
  for (const { asOf, object } of pastFound) run.past.set(asOfKey(object.systemObjectId, asOf), object)
}

/** The objects for each reverse field, in the order of the wants. */
async function loadBelow(run: Run, wants: readonly ReverseWant[]): Promise<(readonly Loaded[])[]> {
  if (wants.length === 0) return []
  const groups = new Map<string, readonly Loaded[]>()
  const open: ReverseWant[] = []
  for (const want of wants) {
    const key = reverseKey(want.column, want.to)
    const known = run.below.get(key)
    if (known) groups.set(key, known)
    else open.push(want)
  }
  for (const [key, group] of Map.groupBy(await loadReverse(run, open), ({ to, column }) => reverseKey(column, to)))
    groups.set(
      key,
      group.map(({ object }) => object),
    )
  const found = wants.map((want) => groups.get(reverseKey(want.column, want.to)) ?? [])
  if (found.reduce((sum, group) => sum + group.length, 0) > run.parts.mostObjects) throw run.parts.tooLarge()
  return asTheyWere(run, wants, found)
}

async function loadReverse(run: Run, wants: readonly ReverseWant[]): Promise<LoadedReverse[]> {
  if (wants.length === 0) return []
  const links = wants.filter((want) => want.column !== null)
  const children = wants.filter((want) => want.column === null)
  const distinct = (values: readonly number[]) => [...new Set(values)]
  const [byLink, byParent] = await Promise.all([
    links.length === 0
      ? []
      : loadReverses(
          run.q,
          run.model,
          distinct(links.map((want) => want.to)),
          distinct(links.map((want) => want.column as number)),
          run.parts.mostObjects + 1,
        ),
    children.length === 0
      ? []
      : loadChildren(run.q, run.model, distinct(children.map((want) => want.to)), run.parts.mostObjects + 1),
  ])
  if (byLink.length + byParent.length > run.parts.mostObjects) throw run.parts.tooLarge()
  return [...byLink, ...byParent]
}

/** Below an old version stand those of today's objects that existed then, as they were. */
async function asTheyWere(
  run: Run,
  wants: readonly ReverseWant[],
  groups: (readonly Loaded[])[],
): Promise<(readonly Loaded[])[]> {
  const past = wants.flatMap(({ asOf }, index) =>
    asOf === null ? [] : (groups[index] ?? []).map((object) => ({ id: object.systemObjectId, asOf })),
  )
  if (past.length === 0) return groups
  const found = await loadAsOf(
    run.q,
    run.model,
    past.map(({ id }) => id),
    past.map(({ asOf }) => new Date(asOf)),
  )
  for (const { asOf, object } of found) run.past.set(asOfKey(object.systemObjectId, asOf), object)
  return wants.map(({ asOf }, index) => {
    const group = groups[index] ?? []
    if (asOf === null) return group
    return group.flatMap((object) => {
      const then = run.past.get(asOfKey(object.systemObjectId, asOf))
      return then && then.at.getTime() <= asOf && then.operation !== 'd' ? [then] : []
    })
  })
}

/** An object with system fields, block and fields; what it links to is announced. */
function renderObject(run: Run, object: Loaded, mask: Mask, place: Place): Wire {
  const { format } = place
  const wire = systemFields(run, object, mask, format, place.top)
  const block = blockFields(run, object, mask, wire)
  wire[object.table.name] = block
  const reader = readerFor(run, mask, place)
  const content = format.inherited ? inheritInto(run, object, reader, block) : object.content
  reader.read(content, block, sinkOf(run, object, place))
  return wire
}

const filtered = new WeakMap<Run, Map<Mask, Reader>>()

function readerFor(run: Run, mask: Mask, place: Place): Reader {
  const { keep } = run.options
  if (!keep || !place.top) return readerOf(mask)
  const ofRun = filtered.get(run) ?? new Map<Mask, Reader>()
  filtered.set(run, ofRun)
  const reader = ofRun.get(mask) ?? filteredReader(mask, keep)
  ofRun.set(mask, reader)
  return reader
}

function sinkOf(run: Run, object: Loaded, place: Place): FieldSink {
  return {
    empty: place.format.full,
    languages: run.options.languages,
    link: (holder, key, id, field) => wantLink(run, place, holder, key, id, field),
    reverse: (holder, key, field) => wantReverse(run, place, object, holder, key, field),
    files: (holder, key, files) => {
      run.files.push({ holder, key, files })
    },
    rows: (holder, key, content, field) => sortLater(run, holder, key, rowsOf(content, field.table), field),
  }
}

function wantLink(run: Run, place: Place, holder: Wire, key: string, id: number, field: ColumnField): void {
  const target = field.column.target
  if (!target) return
  const format = linkFormat(run, place, id, target.inMainSearch)
  const merged = format === place.format
  run.wants.push({
    id,
    asOf: place.asOf,
    content: format.fields,
    done: (found) => {
      if (!found) holder[key] = goneObject(run, id, target)
      else holder[key] = renderLinked(run, found, field.linkMask, below(place, id, format, merged))
    },
  })
}

function below(place: Place, id: number, format: Format, merged: boolean): Place {
  return {
    ...place,
    top: false,
    owned: false,
    format,
    mergeLeft: merged ? place.mergeLeft - 1 : 0,
    chain: { id, up: place.chain },
  }
}

/** How many levels of whole objects can stand below one in this place. */
function levelsBelow({ format, mergeLeft }: Place): number {
  return mergeLeft + (formats[format.linked].fields ? 1 : 0)
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

/** All that decides how a linked object is shown whole. Those around it matter as far as they could stand in it. */
function sharedKey(object: Loaded, mask: Mask, place: Place, links: readonly number[]): string {
  const { format, mergeLeft, inReverse, asOf } = place
  const levels = levelsBelow(place)
  const around: number[] = []
  if (levels > 0) {
    for (let link = place.chain.up; link; link = link.up) {
      if (levels > 1 || format.inherited || links.includes(link.id)) around.push(link.id)
    }
  }
  return `${object.systemObjectId}.${object.version}.${numberOf(mask)}.${format.name}.${mergeLeft}.${inReverse}.${asOf}.${around}`
}

/** How a link is shown: whole, like the object that it stands in, when it is merged, else as the format says. */
function linkFormat(run: Run, place: Place, id: number, inMainSearch: boolean): Format {
  run.parts.spend(shortBytes * place.part.times)
  if (inChain(place.chain, id)) return formats.short
  const usual = formats[place.format.linked]
  const merge = place.mergeLeft > 0 && merges(run, place, inMainSearch)
  if (!merge && !usual.fields) return usual
  if (!run.parts.mayEmbed(place.part.times)) return formats.short
  return merge ? place.format : usual
}

function merges({ options }: Run, { inReverse }: Place, inMainSearch: boolean): boolean {
  switch (options.mergeLinkedObjects) {
    case 'none':
      return false
    case 'in_main_search':
      return inMainSearch
    case 'not_in_main_search':
      return !inMainSearch
    case 'not_in_main_search_unless_reverse':
      return !inMainSearch && !inReverse
    case 'all':
      return true
  }
}

function inChain(chain: Chain, id: number): boolean {
  for (let link: Chain | null = chain; link; link = link.up) if (link.id === id) return true
  return false
}

/** The linked object, or the token of the part that it is. */
function renderLinked(run: Run, object: Head | Loaded, linkMask: Mask | null, place: Place): Wire | string {
  if (!run.caller.root && !run.caller.may('read', object.guard)) return hiddenObject(run, object)
  const mask = linkMask?.table === object.table ? linkMask : standardMask(run, object)
  if (isTrashed(object, place.asOf)) return trashedObject(run, object, mask)
  if (place.format.fields && !('content' in object)) run.parts.noteShort(place.part.times)
  const shown = place.format.fields && 'content' in object && mayUseMask(run, mask, object)
  return (shown && renderWhole(run, object, mask, place)) || sharedShort(run, object, mask)
}

/** The token of the part that shows the object whole; null when there is no room for it. */
function renderWhole(run: Run, object: Loaded, mask: Mask, place: Place): string | null {
  const { times } = place.part
  const links = readerOf(mask).links(object.content)
  const key = sharedKey(object, mask, place, links)
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
  part.wire = renderObject(run, object, mask, { ...place, part })
  return run.parts.token(number)
}

function isTrashed(object: Head | Loaded, asOf: number | null): boolean {
  return asOf === null ? object.deletedAt !== null : 'operation' in object && object.operation === 'd'
}

/** Objects below are part of the object, so they are shown whole: in its format and with the mask of the field. */
function wantReverse(run: Run, place: Place, object: Loaded, holder: Wire, key: string, field: ReverseField): void {
  if (run.options.skipReverseNested || !place.owned) return
  const list: string[] = []
  holder[key] = list
  const column = field.column?.id ?? null
  if (run.below.get(reverseKey(column, object.systemObjectId))?.length === 0) return
  run.reverses.push({
    to: object.systemObjectId,
    column,
    asOf: place.asOf,
    done: (found) => {
      for (const entry of found) {
        if (entry.table !== field.table || inChain(place.chain, entry.systemObjectId)) continue
        // Those below an object in the trash went there with it; otherwise the trash is not shown.
        if (place.asOf === null && entry.deletedAt && !object.deletedAt) continue
        if (!maySee(run.caller, entry)) continue
        const chain = { id: entry.systemObjectId, up: place.chain }
        const bytes = contentBytes(entry.content) + frameBytes
        run.parts.spend(bytes)
        const number = run.parts.add(1, bytes)
        const part = run.parts.part(number)
        part.wire = renderObject(run, entry, field.mask, { ...place, top: false, inReverse: true, chain, part })
        if (entry.childIdx !== null) part.wire._child_idx = entry.childIdx
        list.push(run.parts.token(number))
      }
    },
  })
}

/** Rows that are sorted by a linked object are put in order when that is there. */
function sortLater(run: Run, holder: Wire, key: string, rows: ReturnType<typeof rowsOf>, field: NestedField): void {
  const sort = (): void => {
    const wire = holder[key] as Wire[]
    const byRow = new Map(rows.map((row, index) => [row, wire[index]]))
    const text = (id: number): string | undefined => {
      const linked = run.heads.get(id) ?? run.loaded.get(id)
      // The order must not tell what the rows do not show.
      if (!linked || !(run.caller.root || run.caller.may('read', linked.guard))) return undefined
      return standardText(linked.standard, run.actor.languages)
    }
    holder[key] = sortRows(field, rows, text).map((row) => byRow.get(row))
  }
  if (field.sort.some(({ column }) => column.type === 'link')) run.last.push(sort)
  else sort()
}
