import type { Mask, Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { Yielder } from '../../platform/process/cooperative-yield.ts'
import type { Pool } from '../../pools/model.ts'
import type { CallerRights, Principal, StoredGrant, WhoNames } from '../../rights/service.ts'
import type { Tag } from '../../tags/model.ts'
import type { FileEntry } from '../content/file-links.ts'
import type { MaskDeps } from '../masks/preference.ts'
import type { FieldFilter, Wire } from '../masks/reader.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import type { Format, MergeMode } from './formats.ts'
import { type AnswerLimits, AnswerParts } from './parts.ts'

/** The services of other capabilities that rendering needs. Each is called once per response, for all objects together. */
export interface RenderDeps extends MaskDeps {
  readonly databaseName: string
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly pools: { byId(id: number): ShownPool | undefined }
  readonly tags: { snapshot(): ReadonlyMap<number, ShownTag> }
  /** Whether the object type has name templates for files. */
  readonly namesFiles: (tableId: number) => boolean
  readonly people: {
    whoNames(q: Queryable, who: Iterable<Principal>, languages: readonly string[]): Promise<WhoNames>
    renderAcls(
      q: Queryable,
      lists: readonly (readonly StoredGrant[])[],
      languages: readonly string[],
    ): Promise<readonly unknown[]>
  }
  /** Files with the members of their columns (name, preferred), as the actor may see them; one per place, as pieces of JSON. */
  readonly files: {
    shown(
      q: Queryable,
      actor: Actor,
      places: readonly { readonly link: FileEntry; readonly object: string | null; readonly uuid: string }[],
      days: number | undefined,
      format: 'standard' | 'long',
    ): Promise<readonly (readonly string[])[]>
    expiry(days: number | undefined): number | undefined
  }
  /** Collections that contain each of the objects, as far as the actor may see them; absent: none. */
  readonly collectionsOf?: (
    q: Queryable,
    actor: Actor,
    ids: readonly number[],
  ) => Promise<ReadonlyMap<number, readonly unknown[]>>
  /** Publish records of the objects; absent: none. */
  readonly publishedOf?: (q: Queryable, ids: readonly number[]) => Promise<ReadonlyMap<number, readonly unknown[]>>
}

/** The properties of a pool that objects show. */
export type ShownPool = Pick<Pool, 'id' | 'reference' | 'name' | 'shortname' | 'contact' | 'effectiveMasks'>

export type ShownTag = Pick<Tag, 'id' | 'type' | 'displayname' | 'reference' | 'shortname' | 'displaytype'>

export interface RenderOptions {
  readonly format: Format
  readonly mergeLinkedObjects: MergeMode
  readonly mergeMaxDepth: number
  readonly skipReverseNested: boolean
  /** Show linked objects of an old version as they are now, not as they were then. */
  readonly latestLinked: boolean
  readonly generateRights: boolean
  /** Days for which addresses of files are valid; undefined: the default. */
  readonly fileDays: number | undefined
  /** Only texts in these languages; null: all. */
  readonly languages: readonly string[] | null
  /** The fields of the requested objects that are answered; null: all. */
  readonly keep: FieldFilter | null
}

export const defaultOptions: Omit<RenderOptions, 'format'> = {
  mergeLinkedObjects: 'none',
  mergeMaxDepth: 1,
  skipReverseNested: false,
  latestLinked: false,
  generateRights: false,
  fileDays: undefined,
  languages: null,
  keep: null,
}

/**
 * An object that a place in the response waits for. `done` is called with it once it is loaded: with its content when `content` is
 * set, with `undefined` when it does not exist (or no longer).
 */
export interface Want {
  readonly id: number
  /** Milliseconds since 1970: the object as it was at that time; null: its current state. */
  readonly asOf: number | null
  readonly content: boolean
  done(found: Head | Loaded | undefined): void
}

/**
 * One response in progress. Rendering an object adds the needs of its places to these lists; depths.ts loads each list with one
 * statement and calls back, in rounds, until the lists are empty.
 */
export interface Run {
  readonly deps: RenderDeps
  readonly q: Queryable
  readonly model: Model
  readonly actor: Actor
  readonly caller: CallerRights
  readonly options: RenderOptions
  readonly heads: Map<number, Head>
  readonly loaded: Map<number, Loaded>
  /** Objects in earlier states: key from `asOfKey`. */
  readonly past: Map<string, Loaded>
  /** Known results of reverse wants, by `reverseKey`. */
  readonly below: Map<string, readonly Loaded[]>
  /** The uuids of objects that are promised by a change that is not stored, by their provisional ids. */
  readonly promised: ReadonlyMap<number, string>
  wants: Want[]
  reverses: ReverseWant[]
  /** Loaded once, after all rounds. */
  readonly people: { readonly who: Principal; done(names: WhoNames): void }[]
  readonly hierarchy: { readonly object: Loaded; readonly holder: Wire }[]
  readonly history: { readonly object: Loaded; readonly holder: Wire }[]
  readonly files: {
    readonly holder: Wire
    readonly key: string
    readonly files: readonly FileEntry[]
    /** uuid of the object, if its type has name templates for files. */
    readonly object: string | null
    readonly uuid: string
  }[]
  readonly acls: { readonly grants: readonly StoredGrant[]; done(wire: unknown): void }[]
  /** Old versions whose `_standard` is computed from their own content. */
  readonly oldStandards: { readonly object: Loaded; done(standard: Wire): void }[]
  readonly details: { readonly object: Loaded; readonly holder: Wire }[]
  /** Final steps, run when everything else is filled in. */
  readonly last: (() => void)[]
  /** The parts rendered so far, with the room left for more. */
  readonly parts: AnswerParts
  /** Parts of linked objects, by a key of everything that decides how they are shown (`sharedKey` in object.ts). */
  readonly shared: Map<string, number>
  /** Linked objects in their short form, as used in wire objects: an object itself, or a token. */
  readonly shorts: Map<Head, { readonly mask: Mask; readonly wire: Wire | string }>
  /** The short form of links, by the ids of their targets. */
  readonly shortLinks: Map<number, { readonly linkMask: Mask | null; readonly wire: Wire | string }>
  readonly yielder: Yielder
  /** Heads of linked objects, in no order. */
  readonly headsOf: (ids: readonly number[]) => Promise<readonly Head[]>
  /**
   * The data that links and empty reverse fields of these objects need, in their latest versions; null: it is not loaded in
   * advance.
   */
  readonly aroundOf: ((items: readonly Shown[]) => Promise<PreloadedObjects>) | null
}

/** An object with its content, and the mask that shapes it. */
export interface Shown {
  readonly object: Loaded
  readonly mask: Mask
}

/** Data that is known before anything is loaded. */
export interface PreloadedObjects {
  readonly heads: readonly Head[]
  /** The objects below others, by `reverseKey`, in the order of siblings. */
  readonly below: ReadonlyMap<string, readonly Loaded[]>
  /** The uuids of objects that the change promises, by their provisional ids. */
  readonly promised?: ReadonlyMap<number, string>
}

export const nothingPreloaded: PreloadedObjects = { heads: [], below: new Map() }

/** The objects below one object, registered by a reverse field. */
export interface ReverseWant {
  readonly to: number
  /** Column id of the link; null: children in the hierarchy. */
  readonly column: number | null
  readonly asOf: number | null
  done(found: readonly Loaded[]): void
}

export function reverseKey(column: number | null, to: number): string {
  return `${column}:${to}`
}

export function asOfKey(id: number, asOf: number): string {
  return `${id}@${asOf}`
}

export type RunBase = Pick<
  Run,
  'deps' | 'q' | 'model' | 'actor' | 'caller' | 'options' | 'yielder' | 'headsOf' | 'aroundOf'
>

export function startRun(base: RunBase, limits: AnswerLimits, { heads, below, promised }: PreloadedObjects): Run {
  return {
    ...base,
    parts: new AnswerParts(limits),
    shared: new Map(),
    shorts: new Map(),
    shortLinks: new Map(),
    below: new Map(below),
    promised: promised ?? new Map(),
    heads: new Map(heads.map((head) => [head.systemObjectId, head])),
    loaded: new Map(),
    past: new Map(),
    wants: [],
    reverses: [],
    people: [],
    hierarchy: [],
    history: [],
    acls: [],
    files: [],
    oldStandards: [],
    details: [],
    last: [],
  }
}

/** Only callers that may delete (and so restore) objects see them in the trash. */
export function maySee(caller: CallerRights, object: Head): boolean {
  if (caller.root) return true
  return caller.may('read', object.guard) && (object.deletedAt === null || caller.may('delete', object.guard))
}
