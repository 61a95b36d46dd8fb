/** Files of objects for downloads and exports: a version as it is, or a copy that is made at that time. */
import type { VersionPreset } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { extensionOfCopy, strippable } from './derived-download.ts'
import type { createDelivery, MetadataInObject } from './service.ts'
import { readTransformRequest } from './transform-request.ts'

export interface WantedAsset {
  readonly fileId: number
  readonly hash: string
  readonly version: string
  readonly extension: string
  readonly objUuid: string
  /** `standard`, `keep`, `remove`, or the id of a mapping. */
  readonly metadata: string
  /** A picture by the name of a preset, or by its parameters. */
  readonly preset?: string | undefined
  readonly custom?: VersionPreset['custom'] | undefined
}

export interface AssetDeps {
  readonly download: ReturnType<typeof createDelivery>['download']
  readonly presets: () => readonly VersionPreset[]
}

/** A name that no preset of the base configuration can have. */
const ownPreset = ''

export function createAssets({ download, presets }: AssetDeps) {
  /** @throws {AppError} for a preset that no longer exists */
  function extensionOf({ preset, custom, extension }: Pick<WantedAsset, 'preset' | 'custom' | 'extension'>): string {
    const format = custom?.format ?? presets().find(({ name }) => name === preset)?.custom.format
    if (preset !== undefined && format === undefined) {
      throw new AppError('UrlParameterNotSupported', { param: 'preset', value: preset })
    }
    return format === undefined ? extension : extensionOfCopy(format, extension)
  }

  return {
    /**
     * Opens the delivery, with the present rights of the actor. A file that cannot hold metadata is delivered unchanged
     * where the standard mapping is asked for. The caller must call `end` afterwards. @throws {AppError} as downloads
     */
    async open(
      actor: Actor,
      { preset, custom, metadata: wish, extension, ...address }: WantedAsset,
      { metadataIn, signal }: { readonly metadataIn: MetadataInObject; readonly signal: AbortSignal },
    ) {
      const isPicture = preset !== undefined || custom !== undefined
      const own = custom ? [{ name: ownPreset, displayname: {}, custom }] : presets()
      const takes = strippable.has(extensionOf({ preset, custom, extension }))
      const metadata = wish === 'keep' || (wish === 'standard' && !takes) ? undefined : wish
      const name = custom ? ownPreset : preset
      const transform = readTransformRequest({ ...(isPicture ? { preset: name } : {}), metadata }, own)
      const request = { signature: undefined, transform, nameIn: async () => null, metadataIn, signal }
      return download(actor, address, request)
    },

    /**
     * The extension of the picture made from a version with this extension.
     * @throws {AppError} for a preset that no longer exists
     */
    extension: extensionOf,
  }
}
