/**
 * The datamodel: the object types with their columns, keys and masks. It is edited as a working copy (`HEAD`) and committed as
 * numbered versions. The latest version is `CURRENT`; every other capability works with it, compiled into a `Model`. Version 0 is
 * the empty datamodel of a new instance.
 */
import { isDeepStrictEqual } from 'node:util'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { AppError } from '../platform/errors.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import { type CommitAnswers, type CommitResult, commitHead } from './commit/commit.ts'
import type { CommitHooks } from './commit/hooks.ts'
import { compileModel, type Snapshot } from './compile/model.ts'
import { type CustomTypes, customTypeName } from './custom-types.ts'
import { type Belief, type HeadView, headView, saveL10nHead, saveMasksHead, saveSchemaHead } from './head.ts'
import type { Model, Table } from './model.ts'
import type { LocaApi, MaskSchemaApi, SchemaApi } from './schema.ts'
import * as store from './store.ts'

export { type CommitHooks, type ConstraintChange, type Conversion, hooksWithoutObjects } from './commit/hooks.ts'
export type { Snapshot } from './compile/model.ts'
export {
  type CustomMember,
  type CustomType,
  type CustomTypes,
  customTypeName,
  type MemberType,
  memberTypes,
} from './custom-types.ts'

/** `HEAD`, `CURRENT` or a version number. */
export { datamodelVersions } from './inspection.ts'

export type VersionName = 'HEAD' | 'CURRENT' | number

export interface DatamodelDeps {
  db: Db
  bus: Bus
  snapshots: Pick<Snapshots, 'open'>
  events: EventLog
  /** The functions for objects that a commit needs. */
  hooks: CommitHooks
  /** First data language of the instance: language for existing texts when a column becomes localised. */
  dataLanguage: () => string
  /** The version convention of the client. */
  conventionOf: ConventionOf
  clock?: () => Date
}

export type DatamodelService = Awaited<ReturnType<typeof createDatamodelService>>

/** Messages of this topic mean that there is a new version. */
export const modelTopic = 'datamodel'
/** The rights that the routes of the datamodel require. */
export const commitDatamodel: NeededRight = { name: 'system.datamodel', parameter: 'level', value: 'commit' }
export const editDatamodel: NeededRight = {
  name: 'system.datamodel',
  parameter: 'level',
  value: 'development',
  or: commitDatamodel,
}
/** Compiled former versions kept for readers of history; one is small beside the current one. */
const keptVersions = 8

/** The statement of a request about the version of the working copy. */
type Said = Omit<Belief, 'convention'>

/** The current version. `model` is null if it is the known one; the same holds for `types`. */
interface Stored {
  readonly version: number
  readonly model: Model | null
  readonly revision: number
  readonly types: CustomTypes | null
}

export async function createDatamodelService(deps: DatamodelDeps) {
  const { db, bus, events } = deps
  const clock = deps.clock ?? (() => new Date())
  const listeners = new Set<(model: Model) => void>()
  const former = new Map<number, Promise<Model>>()
  bus.onAnotherServer(() => former.clear())
  const snapshot = await deps.snapshots.open<Stored, Model>({
    name: 'the datamodel',
    topics: [modelTopic],
    async read(from, before) {
      const version = await store.currentVersion(from)
      const custom = await store.readCustomTypes(from)
      return {
        version,
        model: before?.version === version ? null : compileModel(await committed(version, from)),
        revision: custom.revision,
        types: before?.customRevision === custom.revision ? null : custom.types,
      }
    },
    build: renew,
    onChange(model) {
      for (const listener of listeners) listener(model)
    },
  })

  async function committed(version: number, from: Queryable = db): Promise<Snapshot> {
    const snapshot = await store.readVersion(from, version)
    if (!snapshot) throw new AppError('DatamodelVersionNotFound', { version })
    return snapshot
  }

  async function head(): Promise<HeadView> {
    const current = await store.currentVersion(db)
    const stored = await store.readHead(db)
    if (stored) return headView(stored, current)
    const { schema, masks, l10n } = await committed(current)
    return headView({ schema, masks, l10n, schemaRevision: 0, masksRevision: 0, l10nRevision: 0 }, current)
  }

  return {
    /** The current model. Keep it for the whole of a request; it is replaced, never changed. */
    current: (): Model => snapshot.get(),

    /**
     * The model of a former version, to read history with.
     * @throws {AppError} `DatamodelVersionNotFound`.
     */
    version(number: number): Promise<Model> {
      const model = snapshot.get()
      if (number === model.version) return Promise.resolve(model)
      const known = former.get(number)
      if (known) return known
      const compiled = committed(number).then((snapshot) => compileModel(snapshot))
      former.set(number, compiled)
      compiled.catch(() => former.delete(number))
      const [oldest] = former.keys()
      if (former.size > keptVersions && oldest !== undefined) former.delete(oldest)
      return compiled
    },

    /** Calls `listener` with every new model, until the returned function is called. */
    onChange(listener: (model: Model) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    /**
     * Blocks commits until `tx` ends, and checks that `used` is still the current model. To be called by every transaction that
     * writes objects, before it writes.
     * @throws {AppError} `DatabaseLockError` (423) when there was a commit in between; the request succeeds when it is sent again.
     */
    async assertCurrent(tx: Tx, used: Model): Promise<void> {
      const now = await store.lockModelShared(tx)
      if (now.version === used.version && now.revision === used.customRevision) return
      await snapshot.renewThrough(tx)
      throw new AppError('DatabaseLockError', { name: 'datamodel' })
    },

    /**
     * A version as stored; the working copy too, which any signed-in user may read (decision 4).
     * @throws {AppError} `DatamodelVersionNotFound`.
     */
    async snapshot(name: VersionName): Promise<Snapshot & { readonly tags?: HeadView['tags'] }> {
      if (name !== 'HEAD') return committed(name === 'CURRENT' ? await store.currentVersion(db) : name)
      const view = await head()
      return { ...view, version: view.schema.version, committedAt: null }
    },

    async saveSchema(actor: Actor, input: SchemaApi, said: Said): Promise<HeadView> {
      requireEdit(actor)
      return saveSchemaHead(db, input, { ...said, convention: deps.conventionOf(actor) })
    },

    async saveMasks(actor: Actor, input: MaskSchemaApi, said: Said): Promise<HeadView> {
      requireEdit(actor)
      return saveMasksHead(db, input, { ...said, convention: deps.conventionOf(actor) })
    },

    async saveL10n(actor: Actor, input: LocaApi, said: Pick<Said, 'ifMatch'>): Promise<HeadView> {
      requireEdit(actor)
      return saveL10nHead(db, input, said)
    },

    /**
     * Stores the types of values that plugins define, as part of the transaction that changes these. Returns the object types whose
     * index data changes.
     */
    async setCustomTypes(tx: Tx, types: CustomTypes): Promise<readonly number[]> {
      const before = await store.lockCustomTypes(tx)
      const changed = [...new Set([...before.types.keys(), ...types.keys()])].filter(
        (name) => !isDeepStrictEqual(before.types.get(name), types.get(name)),
      )
      if (changed.length === 0) return []
      const revision = before.revision + 1
      await store.writeCustomTypes(tx, revision, types)
      await bus.publish(tx, modelTopic)
      const { version, objecttypes } = snapshot.get()
      tx.afterCommit(() => snapshot.take({ version, model: null, revision, types }))
      const names = new Set(changed)
      return [...objecttypes.values()].filter((table) => hasCustomType(table, names)).map(({ id }) => id)
    },

    /** Deletes all versions and the working copy, for a purge of the instance; blocks saves and commits until `tx` ends. */
    async clear(tx: Tx): Promise<void> {
      await store.lockModelExclusive(tx)
      await store.replaceVersions(tx)
      await bus.publish(tx, modelTopic)
    },

    /** Commits the working copy, or returns the questions that must be answered first. */
    async commit(actor: Actor, answers: CommitAnswers): Promise<CommitResult> {
      requireRight(actor, commitDatamodel)
      return db.transaction(async (tx) => {
        const result = await commitHead(tx, actor, answers, {
          hooks: deps.hooks,
          events,
          dataLanguage: deps.dataLanguage,
          clock,
        })
        if (result.kind === 'done') {
          // Before the message to the others, so that this process never answers with the old model.
          const { model } = result
          const revision = snapshot.get().customRevision
          tx.afterCommit(() => snapshot.take({ version: model.version, model, revision, types: null }))
          await bus.publish(tx, modelTopic)
        }
        return result
      })
    },
  }
}

/** The newest known state; reads may end in another order than they began. */
function renew({ version, model, revision, types }: Stored, before: Model | null): Model {
  const known = before ?? compileModel(store.emptySnapshot())
  const newer = model && version > known.version ? model : known
  if (types && revision > known.customRevision) return { ...newer, customTypes: types, customRevision: revision }
  const { customTypes, customRevision } = known
  return newer === known ? known : { ...newer, customTypes, customRevision }
}

function hasCustomType({ columns, nested }: Table, names: ReadonlySet<string>): boolean {
  const own = columns.some(({ type, typeName }) => type === 'custom' && names.has(customTypeName(typeName)))
  return own || nested.some((table) => hasCustomType(table, names))
}

function requireEdit(actor: Actor): void {
  requireRight(actor, editDatamodel)
}
