/** One object in its latest version, by its id: read more often than anything else. */
import type { Mask, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { JsonAnswer } from '../../platform/json-body.ts'
import type { Lifetime } from '../../platform/lifetime.ts'
import type { CallerRights } from '../../rights/service.ts'
import { readerOf } from '../masks/reader.ts'
import { type Known, type RenderItem, type RenderOptions, reverseKey } from '../render/render.ts'
import { areSame, createAnswers, hasDatedGrants, type Sources, watched } from './kept-answers.ts'
import type { Address } from './load.ts'
import { createObjectCache } from './object-cache.ts'
import { isDeep } from './options.ts'
import type { ReadDeps, RenderPages } from './render-pages.ts'
import type { Head } from './stored-rows.ts'

/** An object in its latest version, allowed to the caller with the mask, and what is known around it. */
interface Latest extends RenderItem {
  readonly known: Known
}

/** `allow` says whether the caller may see the object with the mask, or throws. */
export function createLatest(
  deps: ReadDeps,
  render: RenderPages,
  allow: (caller: CallerRights, mask: Mask, object: Head) => boolean,
) {
  const memory = createObjectCache(deps.quick)
  const answers = createAnswers()

  /** The object in its latest version, with what its links and reverse fields need as far as that is cheap to know. */
  async function readLatest(
    caller: CallerRights,
    table: Table,
    mask: Mask,
    address: { by: Address['by']; id: number },
    { format, mergeLinkedObjects }: RenderOptions,
  ): Promise<Latest | null> {
    // Where links are shown with their fields their contents are loaded anyway.
    const shortLinks = format.fields && format.linked === 'short' && mergeLinkedObjects === 'none'
    const needs = { links: shortLinks, reverses: format.fields }
    const found = await memory.one(deps.datamodel.current(), table, address, readerOf(mask), needs)
    if (!found || !allow(caller, mask, found.object)) return null
    const { object, heads, absent } = found
    const below = new Map(absent.map((column) => [reverseKey(column, object.systemObjectId), []]))
    return { object, mask, known: { heads, below } }
  }

  /** What the answer to a read depends on, as far as it is in memory. */
  function sourcesOf(actor: Actor, caller: CallerRights, { object, mask, known }: Latest): Sources {
    const { heads, below } = known
    return [
      mask,
      object,
      below.size,
      deps.datamodel.current(),
      caller,
      ...deps.snapshots(),
      ...actor.languages,
      ...heads,
    ]
  }

  /** The object as JSON: kept from an earlier read when nothing that it was made from has changed. */
  async function answerLatest(
    actor: Actor,
    caller: CallerRights,
    latest: Latest,
    shown: RenderOptions,
    lifetime: Lifetime,
  ): Promise<JsonAnswer> {
    const sources = sourcesOf(actor, caller, latest)
    const { object, mask, known } = latest
    const { format, mergeLinkedObjects, mergeMaxDepth, skipReverseNested } = shown
    const question = `${object.systemObjectId} ${mask.name} ${caller.userId} ${format.name} ${mergeLinkedObjects} ${mergeMaxDepth} ${skipReverseNested}`
    const answer = answers.find(question, sources)
    if (answer) return { body: [answer], short: 0 }
    const q = watched(deps.db.within(lifetime))
    const work = () => render(q, actor, caller, [[{ object, mask }]], shown, { known, lifetime })
    const rendered = await (isDeep(shown) ? deps.heavy.run(lifetime, work) : work())
    const [body = nothing] = rendered.body
    const lasting =
      !q.asked &&
      rendered.body.length === 1 &&
      rendered.short === 0 &&
      !hasDatedGrants(object) &&
      !known.heads.some(hasDatedGrants)
    // What changed meanwhile may be in the answer or not.
    if (lasting && areSame(sources, sourcesOf(actor, caller, latest))) answers.keep(question, sources, body)
    return rendered
  }

  return { readLatest, answerLatest }
}

const nothing = Buffer.from('[]')
