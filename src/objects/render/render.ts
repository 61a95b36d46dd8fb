/**
 * Stored objects to wire objects. Vocabulary: a *run* is one response; requested objects are *on top*; every other object is in the
 * response because it is linked, or is below (reverse-nested, children) or above (parents, path).
 *
 * Rendering is breadth first. An object is rendered as soon as its content is loaded, with empty places for its links. Then the
 * objects for all places are loaded together and filled in; their links form the next depth. So a page takes a constant number of
 * statements per depth, whatever the number of objects. A long answer is rendered in pages, and each is written before the next is
 * loaded, so that memory holds the answer and not the objects from which it is made. The size of an answer is limited while it is
 * made (parts.ts).
 */
import type { Mask } from '../../datamodel/model.ts'
import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import type { Wire } from '../masks/reader.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import { nextDepth } from './depths.ts'
import { finish } from './finish.ts'
import { loadInheritance } from './inheritance.ts'
import { topNesting } from './nesting.ts'
import { renderObject } from './object.ts'
import { type AnswerLimits, contentBytes, frameBytes, shortBytes } from './parts.ts'
import { nothingPreloaded, type PreloadedObjects, type Run, type RunBase, type Shown, startRun } from './run.ts'
import { shortObject } from './system-fields.ts'

export {
  defaultOptions,
  maySee,
  nothingPreloaded,
  type PreloadedObjects,
  type RenderDeps,
  type RenderOptions,
  reverseKey,
  type Shown,
} from './run.ts'

/** An object to be shown, already allowed to the actor, and the mask that shapes it; a head is enough for `short`. */
export interface RenderItem {
  readonly object: Head | Loaded
  readonly mask: Mask
}

/** A last change to a requested object. */
export type Shape = (wire: Wire, item: RenderItem) => Wire

/** Additional inputs of a rendering. */
export interface RenderMore {
  readonly known?: PreloadedObjects | undefined
  readonly shape?: Shape | undefined
  /** Gets the JSON of each item, in their order; then the answer itself is an empty list. */
  readonly each?: ((text: string) => void) | undefined
}

/** Renders the items of all pages in their order as one JSON array; a page is loaded when those before it are written. */
export async function renderAnswer(
  base: RunBase,
  limits: AnswerLimits,
  pages: AsyncIterable<readonly RenderItem[]> | Iterable<readonly RenderItem[]>,
  { known = nothingPreloaded, shape, each }: RenderMore = {},
): Promise<JsonAnswer> {
  const run = startRun(base, limits, known)
  for await (const items of pages) {
    const tops = await renderPage(run, items, shape)
    await run.parts.write(tops, run.yielder, each)
    for (const { object } of items) run.loaded.delete(object.systemObjectId)
    if (run.loaded.size > mostRemembered) run.loaded.clear()
    run.past.clear()
    run.shorts.clear()
    run.shortLinks.clear()
  }
  return { body: run.parts.end(), short: run.parts.short }
}

/**
 * Renders the items of a page as values, in their order, for callers that process them before they are written. `short` as for an
 * answer.
 */
export async function renderValues(
  base: RunBase,
  limits: AnswerLimits,
  items: readonly RenderItem[],
  { known = nothingPreloaded, shape }: Pick<RenderMore, 'known' | 'shape'> = {},
): Promise<{ readonly values: readonly Wire[]; readonly short: number }> {
  const run = startRun(base, limits, known)
  const tops = await renderPage(run, items, shape)
  return { values: await run.parts.values(tops, run.yielder), short: run.parts.short }
}

/** Maximum number of linked objects that are kept for the next page. */
const mostRemembered = 2000

/** Renders requested objects; returns their numbers among the parts. */
async function renderPage(run: Run, items: readonly RenderItem[], shape: Shape | undefined): Promise<number[]> {
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
  await lookAround(run, items)
  const tops: number[] = []
  for (const { object, mask } of items) {
    if (run.yielder.due()) await run.yielder.yield()
    tops.push(renderTop(run, object, mask))
  }
  while (run.wants.length > 0 || run.reverses.length > 0) await nextDepth(run)
  await finish(run)
  if (shape) {
    for (const [index, top] of tops.entries()) {
      const part = run.parts.part(top)
      part.wire = shape(part.wire as Wire, items[index] as RenderItem)
    }
  }
  return tops
}

/** Loads the linked objects before the objects are rendered, so that their places are filled at once. */
async function lookAround(run: Run, items: readonly RenderItem[]): Promise<void> {
  const latest = run.aroundOf ? items.filter((item): item is Shown => isLatest(item.object)) : []
  if (!run.aroundOf || latest.length === 0) return
  const { heads, below } = await run.aroundOf(latest)
  for (const head of heads) run.heads.set(head.systemObjectId, head)
  for (const [key, objects] of below) run.below.set(key, objects)
}

function renderTop(run: Run, object: Head | Loaded, mask: Mask): number {
  const whole = run.options.format.fields && 'content' in object
  const bytes = whole ? contentBytes(object.content) + frameBytes : shortBytes
  run.parts.spend(bytes)
  const number = run.parts.add(1, bytes)
  const part = run.parts.part(number)
  part.wire = whole ? renderObject(run, object, mask, topNesting(run, object, part)) : shortObject(run, object, mask)
  return number
}

function isLatest(object: Head | Loaded): object is Loaded {
  return 'content' in object && object.version === object.latestVersion
}
