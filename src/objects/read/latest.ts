/** Objects in their latest version: reads of one object by its id are the most frequent, then pages of the same objects. */
import type { Mask, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import { createAdmission } from '../../platform/memory/admission.ts'
import { retain } from '../../platform/memory/buffer-ownership.ts'
import type { World } from '../../platform/postgres/snapshot.ts'
import type { CallerRights } from '../../rights/service.ts'
import { type Reader, readerOf } from '../masks/reader.ts'
import {
  nothingPreloaded,
  type PreloadedObjects,
  type RenderItem,
  type RenderOptions,
  reverseKey,
} from '../render/render.ts'
import type { Address } from '../stored/load.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import { type CachedObject, createObjectCache } from './object-cache.ts'
import { hasShortLinks, isDeep } from './options.ts'
import type { Nearby, ReadDeps, RenderPages } from './render-pages.ts'
import { createResponseCache, hasDatedGrants, type Sources, Watched } from './response-cache.ts'

/** An object in its latest version that the caller may see with the mask, with the data around it that is known. */
interface Latest extends RenderItem {
  readonly known: PreloadedObjects
  /** It is requested repeatedly. */
  readonly kept: boolean
}

/** `allow` returns whether the caller may see the object with the mask, or throws. */
export function createLatest(
  deps: ReadDeps,
  render: RenderPages,
  allow: (caller: CallerRights, mask: Mask, object: Head) => boolean,
) {
  const admission = createAdmission()
  const memory = createObjectCache(deps.pipelined, admission, deps.memory)
  const answers = createResponseCache(admission, deps.memory.objectAnswers)

  /** The object in its latest version, with the data for its links and reverse fields where that is cheap to get. */
  async function readLatest(
    caller: CallerRights,
    table: Table,
    mask: Mask,
    address: { by: Address['by']; id: number },
    shown: RenderOptions,
  ): Promise<Latest | null> {
    // Formats that show links with their fields load the contents of linked objects anyway.
    const needs = { links: hasShortLinks(shown), reverses: shown.format.fields }
    const found = await memory.one(deps.datamodel.current(), table, address, readerOf(mask), needs)
    return found && allow(caller, mask, found.object) ? latestOf(found, mask) : null
  }

  function latestOf({ object, heads, absent, kept }: CachedObject, mask: Mask): Latest {
    return { object, mask, known: { heads, below: noneBelow(object, absent) }, kept }
  }

  const nearby: Nearby = {
    heads: memory.heads,
    async around(model, items, needs) {
      const known = await memory.around(
        model,
        items.map(({ object, mask }) => ({ object, reader: readerOf(mask) })),
        needs,
      )
      const below = known?.absent.flatMap(({ object, columns }) => [...noneBelow(object, columns)])
      return known ? { heads: known.heads, below: new Map(below) } : nothingPreloaded
    },
  }

  /** The sources of the answer to a read, as far as they are in memory. */
  function sourcesOf(world: World, caller: CallerRights, { object, mask, known }: Latest): Sources {
    const { heads, below } = known
    return { world, own: [mask, object, below.size, caller, ...heads] }
  }

  /** The object as JSON: from the response cache when none of its sources has changed. */
  async function answerLatest(
    actor: Actor,
    caller: CallerRights,
    latest: Latest,
    shown: RenderOptions,
    deadline: Deadline,
  ): Promise<JsonAnswer> {
    const { object, mask, known, kept } = latest
    const sources = kept ? sourcesOf(deps.world(), caller, latest) : null
    const question = questionOf(actor, caller, latest, shown)
    const answer = sources && answers.find(question, sources)
    if (answer) return { body: [answer], short: 0 }
    const q = new Watched(deps.db.within(deadline))
    const work = () => render(q, actor, caller, [[{ object, mask }]], shown, { known, deadline })
    const rendered = await (isDeep(shown) ? deps.heavyRequests.run(deadline, work) : work())
    if (!sources) return rendered
    const [body = nothing] = rendered.body
    const lasting = !q.asked && rendered.body.length === 1 && rendered.short === 0 && !isDated(latest)
    // The answer may or may not contain changes made in the meantime.
    if (lasting && sources.world === deps.world())
      answers.keep(question, object.systemObjectId, sources, () => retain(body))
    return rendered
  }

  /**
   * Objects as JSON, in the order of the ids, each as a list of one object or as a string for the object alone. Only when all of
   * them are in memory, as for a page that was shown before; else null. Objects without a cached answer are rendered together.
   * `maskOf`: the mask of each; null: the object is left to another function. For formats with short links and without inheritance.
   */
  async function answerRemembered(
    actor: Actor,
    caller: CallerRights,
    ids: readonly number[],
    maskOf: (object: Loaded) => Mask | null,
    shown: RenderOptions,
    deadline: Deadline,
  ): Promise<{ readonly bodies: readonly (Buffer | string)[]; readonly short: number } | null> {
    const masks = new Map<Loaded, Mask>()
    const readerFor = (object: Loaded): Reader | null => {
      const mask = maskOf(object)
      if (mask) masks.set(object, mask)
      return mask && readerOf(mask)
    }
    const found = await memory.all(deps.datamodel.current(), ids, readerFor, { links: true, reverses: true })
    if (!found) return null
    const world = deps.world()
    const all = found.map((each) => {
      const latest = latestOf(each, masks.get(each.object) as Mask)
      const sources = sourcesOf(world, caller, latest)
      return { latest, sources, question: questionOf(actor, caller, latest, shown) }
    })
    const bodies = all.map(({ question, sources }) => answers.find(question, sources))
    const open = all.filter((_, index) => !bodies[index])
    if (open.length === 0) return { bodies: bodies as Buffer[], short: 0 }
    const texts: string[] = []
    const q = new Watched(deps.db.within(deadline))
    const known = {
      heads: open.flatMap(({ latest }) => latest.known.heads),
      below: new Map(open.flatMap(({ latest }) => [...latest.known.below])),
    }
    const items = open.map(({ latest: { object, mask } }) => ({ object, mask }))
    const { short } = await render(q, actor, caller, [items], shown, {
      known,
      deadline,
      each: (text) => void texts.push(text),
    })
    // The answers may or may not contain changes made in the meantime.
    if (!q.asked && short === 0 && world === deps.world()) {
      for (const [index, { latest, sources, question }] of open.entries()) {
        const id = latest.object.systemObjectId
        if (!isDated(latest)) answers.keep(question, id, sources, () => retain(Buffer.from(`[${texts[index]}]`)))
      }
    }
    let next = 0
    return { bodies: bodies.map((body) => body ?? (texts[next++] as string)), short }
  }

  return { readLatest, answerLatest, answerRemembered, remember: memory.remember, nearby }
}

/** Reverse fields without objects. */
function noneBelow({ systemObjectId }: Head, columns: readonly number[]): PreloadedObjects['below'] {
  return new Map(columns.map((column) => [reverseKey(column, systemObjectId), []]))
}

/** The key of an answer in the cache: all that distinguishes answers about the same object, besides their sources. */
function questionOf(
  { languages }: Actor,
  caller: CallerRights,
  { object, mask }: RenderItem,
  shown: RenderOptions,
): string {
  const { format, mergeLinkedObjects, mergeMaxDepth, skipReverseNested } = shown
  return `${object.systemObjectId} ${mask.name} ${caller.userId} ${format.name} ${mergeLinkedObjects} ${mergeMaxDepth} ${skipReverseNested} ${languages.join()}`
}

/** Whether the rights of the caller depend on the current time. */
const isDated = ({ object, known }: Latest): boolean => hasDatedGrants(object) || known.heads.some(hasDatedGrants)

const nothing = Buffer.from('[]')
