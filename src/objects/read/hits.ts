import type { Mask } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import { type Deadline, noDeadline } from '../../platform/limits/deadline.ts'
import { transfer } from '../../platform/memory/buffer-ownership.ts'
import type { CallerRights } from '../../rights/service.ts'
import { bestMask, masksByPreference, mayUseMask } from '../masks/preference.ts'
import type { FieldFilter, Wire } from '../masks/reader.ts'
import type { FormatName, MergeMode } from '../render/formats.ts'
import { maySee, type RenderOptions, type Shape } from '../render/render.ts'
import type { Head } from '../stored/rows.ts'
import type { createLatest } from './latest.ts'
import { renderOptions, type ShownAs } from './options.ts'
import { latestOf, numberedOf, type ObjectVersion } from './pages.ts'
import { createRenderStream, type ReadDeps, type RenderPages } from './render-pages.ts'

/** The form in which a search shows its hits. */
export interface HitOptions {
  readonly format: FormatName
  /** Days for which addresses of files are valid; undefined: the default. */
  readonly fileDays?: number | undefined
  /** Only texts in these languages; null: all. */
  readonly languages?: readonly string[] | null
  readonly mergeLinkedObjects?: MergeMode | undefined
  readonly mergeMaxDepth?: number | undefined
  /** The differences between the hits and their format. */
  readonly differing?: ShownAs['differing']
  readonly generateRights?: boolean
  /** Show with `_all_fields` where the caller may; otherwise with the best mask that the caller may use. */
  readonly allFields?: boolean
  /** Show with this mask, or with the mask of this name, where the caller may use it; for objects of its type. */
  readonly mask?: Mask | string
  /** Full names or their beginnings (`artwork.title`, `artwork`, `_tags`); empty: all. */
  readonly includeFields?: readonly string[]
  readonly excludeFields?: readonly string[]
}

/** Additions by the search to its hits. */
export interface HitContext {
  /** Additional members of a hit. */
  readonly additions?: (systemObjectId: number) => Readonly<Record<string, unknown>>
  readonly deadline?: Deadline
}

export function createHitAnswers(deps: ReadDeps, render: RenderPages, latest: ReturnType<typeof createLatest>) {
  const renderStream = createRenderStream(deps)

  return {
    /**
     * Hits of a search by id, in the order of the ids; objects that the caller may not see are left out.
     */
    async renderHits(
      actor: Actor,
      systemObjectIds: readonly number[],
      options: HitOptions,
      { additions, deadline = noDeadline }: HitContext = {},
    ): Promise<JsonAnswer> {
      const q = deps.db.within(deadline)
      const { caller, shown, maskOf, shape } = await shownAs(actor, options, additions)
      const plain = isPlain(systemObjectIds.length, shown)
      if (plain) {
        const named = (object: Head): Mask | null => {
          const mask = maskOf(object)
          return mask === 'short' ? null : mask
        }
        const kept = await latest.answerRemembered(actor, caller, systemObjectIds, named, shown, deadline)
        const body = kept && joined(kept.bodies, systemObjectIds, additions)
        if (kept && body && body.length <= deps.limits.bytes) return { body: [body], short: kept.short }
      }
      const model = deps.datamodel.current()
      const source = plain ? { q: deps.pages, deps, model, seen: latest.remember } : { q, deps, model }
      const pages = latestOf(source, systemObjectIds, shown.format.fields, maskOf)
      return render(q, actor, caller, pages, shown, { shape, deadline, nearby: latest.nearby })
    },

    /**
     * Objects by id as values, in the order of the ids; those that the caller may not see are left out. They are loaded page by
     * page as the reader consumes them, with the caller's rights at that time: only a part of a long list is in memory.
     */
    async *stream(
      actor: Actor,
      systemObjectIds: readonly number[],
      options: HitOptions,
      deadline: Deadline = noDeadline,
    ): AsyncGenerator<Wire> {
      const q = deps.db.within(deadline)
      for (let start = 0; start < systemObjectIds.length; start += atATime) {
        const ids = systemObjectIds.slice(start, start + atATime)
        const { caller, shown, maskOf, shape } = await shownAs(actor, options)
        const pages = latestOf({ q, deps, model: deps.datamodel.current() }, ids, shown.format.fields, maskOf)
        yield* renderStream(q, actor, caller, pages, shown, { shape, deadline, nearby: latest.nearby })
      }
    },

    /**
     * Objects in these versions as values, in this order; those that the caller may not see are left out. Linked objects are
     * embedded whole where the caller requests it, unless a single object would become too large.
     */
    async *versions(
      actor: Actor,
      wanted: readonly ObjectVersion[],
      options: HitOptions,
      deadline: Deadline = noDeadline,
    ): AsyncGenerator<Wire> {
      const q = deps.db.within(deadline)
      for (let start = 0; start < wanted.length; start += atATime) {
        const { caller, shown, maskOf, shape } = await shownAs(actor, options)
        const model = deps.datamodel.current()
        const pages = numberedOf({ q, deps, model }, wanted.slice(start, start + atATime), maskOf)
        yield* renderStream(q, actor, caller, pages, shown, { shape, deadline, nearby: latest.nearby, whole: true })
      }
    },
  }

  async function shownAs(actor: Actor, options: HitOptions, additions?: HitContext['additions']) {
    const caller = await deps.rights.forActor(actor)
    const keep = fieldFilter(options.includeFields ?? [], options.excludeFields ?? [])
    const shown: RenderOptions = {
      ...renderOptions(deps, options),
      generateRights: options.generateRights ?? false,
      languages: options.languages?.length ? options.languages : null,
      keep,
    }
    const preferred = preferredMasks()
    const maskOf = (object: Head): Mask | 'short' | null =>
      maySee(caller, object) ? maskForHit(caller, object, preferred(object), options) : null
    const shape: Shape = (wire, { object }) => {
      if (keep) dropSystemFields(wire, keep)
      return additions ? Object.assign(wire, additions(object.systemObjectId)) : wire
    }
    return { caller, shown, maskOf, shape }
  }

  /** The best mask for a hit that the caller may use; without one only its title is shown. */
  function maskForHit(
    caller: CallerRights,
    object: Head,
    preferred: readonly Mask[],
    { allFields, mask }: Pick<HitOptions, 'allFields' | 'mask'>,
  ): Mask | 'short' {
    const context = { deps, caller }
    const named = typeof mask === 'string' ? object.table.masks.get(mask) : mask
    const asked = named?.table === object.table ? named : allFields ? object.table.masks.get('_all_fields') : undefined
    if (asked && mayUseMask(context, asked, object)) return asked
    return bestMask(deps, caller, object, preferred) ?? 'short'
  }

  /** Masks by preference, found once for all hits of a type in a pool. */
  function preferredMasks(): (object: Head) => readonly Mask[] {
    const known = new Map<string, readonly Mask[]>()
    return (object) => {
      const place = `${object.table.id} ${object.poolId}`
      const masks = known.get(place) ?? masksByPreference({ deps }, object)
      known.set(place, masks)
      return masks
    }
  }
}

/** Objects of a stream whose rights are checked together. */
const atATime = 500

/** Maximum number of objects to look for in memory: larger lists are read from the database. */
const mostRemembered = 300

/**
 * Whether hits are shown in the same form as reads of single objects, whose answers are cached. Only with short links, and without
 * inheritance: otherwise a cached answer could contain data of another object of the page, and the cache would not know of it.
 */
function isPlain(
  count: number,
  { format, keep, languages, generateRights, mergeLinkedObjects }: RenderOptions,
): boolean {
  const alone = format.fields && format.linked === 'short' && !format.inherited && mergeLinkedObjects === 'none'
  return count <= mostRemembered && alone && !keep && !languages && !generateRights
}

/**
 * One list of the objects. Of `bodies`, buffers are lists of one object and strings are objects; additional members are appended at
 * the end of each object.
 */
function joined(
  bodies: readonly (Buffer | string)[],
  ids: readonly number[],
  additions: HitContext['additions'],
): Buffer {
  const pieces: (Buffer | string)[] = []
  for (const [index, body] of bodies.entries()) {
    const more = additions ? JSON.stringify(additions(ids[index] as number)).slice(1) : '}'
    pieces.push(
      index === 0 ? '[' : ',',
      typeof body === 'string' ? body.slice(0, -1) : body.subarray(1, -2),
      more === '}' ? more : `,${more}`,
    )
  }
  pieces.push(pieces.length === 0 ? '[]' : ']')
  return bytesOf(pieces)
}

/** All pieces as one buffer. */
function bytesOf(pieces: readonly (Buffer | string)[]): Buffer {
  const sizes = pieces.map((piece) => (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length))
  const bytes = transfer(Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0)))
  let at = 0
  for (const [index, piece] of pieces.entries()) {
    if (typeof piece === 'string') bytes.write(piece, at)
    else piece.copy(bytes, at)
    at += sizes[index] as number
  }
  return bytes
}

/** `artwork` and `artwork._nested:x` include everything inside them; a field is also kept when a field inside it is requested. */
function fieldFilter(include: readonly string[], exclude: readonly string[]): FieldFilter | null {
  if (include.length === 0 && exclude.length === 0) return null
  const within = (name: string, other: string) => name === other || name.startsWith(`${other}.`)
  return (name) => {
    if (exclude.some((field) => within(name, field))) return false
    return include.length === 0 || include.some((field) => within(name, field) || within(field, name))
  }
}

/** The members of an object that every projection keeps, so that the object can be identified. */
const alwaysKept = new Set(['_objecttype', '_mask', '_format', '_system_object_id', '_global_object_id', '_uuid'])

function dropSystemFields(wire: Wire, keep: FieldFilter): void {
  for (const key of Object.keys(wire)) {
    if (key.startsWith('_') && !alwaysKept.has(key) && !keep(key)) delete wire[key]
  }
}
