/**
 * A *plugin* is a folder with a manifest. It came from a folder of the configuration (`disk`), as an uploaded archive
 * (`zip`) or from an address (`url`). Only *enabled* plugins have any effect.
 */
import type { Manifest } from './manifest/model.ts'
import type { BuildInfo } from './packages/read-folder.ts'

export const pluginTypes = ['disk', 'zip', 'url'] as const
export type PluginType = (typeof pluginTypes)[number]
export const updatePolicies = ['never', 'daily', 'always'] as const
export type UpdatePolicy = (typeof updatePolicies)[number]

/** A plugin as stored in the database. */
export interface StoredPlugin {
  readonly id: number
  readonly name: string
  readonly type: PluginType
  readonly enabled: boolean
  readonly path: string | null
  readonly url: string | null
  readonly zipFile: number | null
  readonly updatePolicy: UpdatePolicy
  /** The hash of its archive; null for one on a disk. */
  readonly package: Buffer | null
  readonly manifest: Record<string, unknown>
  readonly buildInfo: BuildInfo
}

/** The same with its parsed manifest. */
export interface Plugin extends Omit<StoredPlugin, 'manifest'> {
  readonly manifest: Manifest
}

/** All plugins by name, and the enabled ones in the order of their calls. */
export interface PluginSnapshot {
  readonly byName: ReadonlyMap<string, Plugin>
  readonly enabled: readonly Plugin[]
}
