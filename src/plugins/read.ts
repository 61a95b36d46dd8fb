import type { Logger } from 'pino'
import type { EventTypeDefinition } from '../events/service.ts'
import type { AddedRendition } from '../files/service.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import type { RightDefinition } from '../rights/service.ts'
import { readManifest } from './manifest/manifest.ts'
import type { Manifest } from './manifest/model.ts'
import type { Plugin, PluginSnapshot, StoredPlugin } from './model.ts'
import { inOrder } from './order.ts'
import { addedRenditions } from './recipes/added.ts'
import { loadPlugins } from './store.ts'

/** A message of this topic means that plugins have changed and must be read again. */
export const pluginTopic = 'plugin'

export type KeptPlugins = Awaited<ReturnType<typeof openPlugins>>

/** The plugins in memory; read again after a process on the same database has changed them. */
export async function openPlugins({
  snapshots,
  log,
}: {
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly log: Logger
}) {
  const listeners = new Set<(now: PluginSnapshot) => void>()
  let renditions: { readonly of: PluginSnapshot; readonly list: readonly AddedRendition[] } | null = null
  const snapshot = await snapshots.open<StoredPlugin[], PluginSnapshot>({
    name: 'plugins',
    topics: [pluginTopic],
    read: loadPlugins,
    build: (stored) => compiled(stored, log),
    onChange(now) {
      for (const listener of listeners) listener(now)
    },
  })
  return {
    get: snapshot.get,
    /** Reads the plugins again, for a caller that has just committed a change and answers with it. */
    renewed: snapshot.renewed,
    onChange(listener: (now: PluginSnapshot) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    /** System rights of the enabled plugins, for the catalogue. */
    systemRights: (): RightDefinition[] => snapshot.get().enabled.flatMap(rightsOf),

    /** The same for all installed plugins: a user keeps a right while its plugin is off. */
    givenRights(): ReadonlyMap<string, RightDefinition> {
      const rights = [...snapshot.get().byName.values()].flatMap(rightsOf)
      return new Map(rights.map((right) => [right.name, right]))
    },

    /** Callbacks of the enabled plugins, by their names in transitions. */
    transitionCallbacks: (): ReadonlySet<string> =>
      new Set(
        snapshot
          .get()
          .enabled.flatMap(({ name, manifest }) => [...manifest.transitions.keys()].map((one) => `${name}:${one}`)),
      ),

    /** Renditions of the enabled plugins; one list for each state. */
    renditions(): readonly AddedRendition[] {
      const now = snapshot.get()
      if (renditions?.of !== now) renditions = { of: now, list: addedRenditions(now) }
      return renditions.list
    },

    /** A type of events that an enabled plugin declares. */
    eventType(name: string): EventTypeDefinition | undefined {
      for (const { manifest } of snapshot.get().enabled) {
        const declared = manifest.events.get(name)
        if (declared) {
          return {
            group: 'PLUGIN',
            userLogged: declared.user,
            pollable: false,
            alwaysUser: false,
            info: [],
            written: true,
          }
        }
      }
      return undefined
    },
  }
}

function rightsOf({ name, manifest }: Plugin): RightDefinition[] {
  return manifest.systemRights.map((right) => ({
    name: `plugin.${name}.${right.name}`,
    group: `plugin.${name}`,
    comment: right.comment,
    grantable: false,
    parameters: right.parameters.map(({ name, type, choices }) => ({
      name,
      type,
      comment: '',
      mergePolicy: '',
      ...(choices.length > 0 ? { choices } : {}),
    })),
  }))
}

function compiled(stored: readonly StoredPlugin[], log: Logger): PluginSnapshot {
  const plugins = stored.map((plugin): Plugin => {
    try {
      return { ...plugin, manifest: readManifest(plugin.manifest) }
    } catch (error) {
      // It was installed by a service with other rules. It can be seen and removed, but has no effect.
      log.error({ plugin: plugin.name, err: error }, 'the manifest of a plugin cannot be read: it is off')
      return { ...plugin, enabled: false, manifest: unreadable(plugin.name, error) }
    }
  })
  return {
    byName: new Map(plugins.map((plugin) => [plugin.name, plugin])),
    enabled: inOrder(plugins.filter(({ enabled }) => enabled)),
  }
}

function unreadable(name: string, error: unknown): Manifest {
  return {
    ...readManifest({ plugin: { name } }),
    unsupported: [error instanceof Error ? error.message : String(error)],
  }
}
