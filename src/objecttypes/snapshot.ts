import { modelTopic } from '../datamodel/service.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Tx } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import type { StoredGrant } from '../rights/service.ts'
import type { TagLayer } from '../tags/service.ts'
import type { TransitionLayer } from '../transitions/service.ts'
import { defaultSettings, type ObjecttypeSettings, type StoredObjecttype } from './model.ts'
import { readObjecttypes } from './store.ts'

/** Messages of this topic mean that settings of object types have changed and must be read again. */
const topic = 'objecttypes'

type All = ReadonlyMap<number, StoredObjecttype>

export type KeptObjecttypes = Awaited<ReturnType<typeof openObjecttypes>>

/** The settings of all object types in memory, renewed when a process on the same database has changed them. */
export async function openObjecttypes(deps: { readonly snapshots: Pick<Snapshots, 'open'>; readonly bus: Bus }) {
  const snapshot = await deps.snapshots.open<All, All>({
    name: 'the settings of object types',
    // A commit of the datamodel adds and removes object types.
    topics: [topic, modelTopic],
    read: readObjecttypes,
    build: (stored) => stored,
  })
  let listed: { of: All; grants: ReadonlyMap<number, readonly StoredGrant[]> } | null = null
  const settings = (id: number): ObjecttypeSettings => snapshot.get().get(id)?.settings ?? defaultSettings

  return {
    /** Settings by object type; a new map when any of them has changed. */
    snapshot: snapshot.get,
    settings,
    objecttype: (id: number): StoredObjecttype =>
      snapshot.get().get(id) ?? { id, version: 1, settings: defaultSettings },

    /** Whether the object type has its own file name templates. */
    namesFiles: (id: number): boolean => Object.keys(settings(id).exportAssetFilenames).length > 0,

    /** Notifies this process and the others, at the commit, that settings have changed; `saved` are the new ones. */
    async publish(tx: Tx, saved: readonly StoredObjecttype[]): Promise<void> {
      tx.afterCommit(() => snapshot.take(new Map([...snapshot.get(), ...saved.map((one) => [one.id, one] as const)])))
      await deps.bus.publish(tx, topic)
    },

    /** Increases with each save of settings of the same datamodel, equally in all processes. */
    revision(): number {
      let revision = 0
      for (const { version } of snapshot.get().values()) revision += version
      return revision
    },

    /** Grants of object types, for the rights of callers; a new map only when settings have changed. */
    grants(): ReadonlyMap<number, readonly StoredGrant[]> {
      const now = snapshot.get()
      if (listed?.of !== now)
        listed = { of: now, grants: new Map([...now].map(([id, { settings }]) => [id, settings.acl])) }
      return listed.grants
    },

    /** Transitions of an object type, and whether it blocks those of the instance. */
    transitionLayer(id: number): TransitionLayer {
      const { privateTransitions, transitions } = settings(id)
      return { private: privateTransitions, transitions }
    },

    /** Tags of an object type, and whether it blocks those of the instance. */
    tagLayer(id: number): TagLayer {
      const { privateTags, tags } = settings(id)
      return { private: privateTags, tags }
    },
  }
}
