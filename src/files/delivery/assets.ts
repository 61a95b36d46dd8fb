/** Files of objects for downloads and exports: a version as it is, or a copy that is made at that time. */
import type { VersionPreset } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { extensionOfCopy, strippable } from './derived-download.ts'
import type { createDelivery, ListedDownload, MetadataInObject } from './service.ts'
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
  readonly downloads: ReturnType<typeof createDelivery>['downloads']
  readonly presets: () => readonly VersionPreset[]
}

/** A name that no preset of the base configuration can have. */
const ownPreset = ''

export function createAssets({ downloads, presets }: AssetDeps) {
  /** @throws {AppError} for a preset that no longer exists */
  function extensionOf({ preset, custom, extension }: Pick<WantedAsset, 'preset' | 'custom' | 'extension'>): string {
    const format = custom?.format ?? presets().find(({ name }) => name === preset)?.custom.format
    if (preset !== undefined && format === undefined) {
      throw new AppError('UrlParameterNotSupported', { param: 'preset', value: preset })
    }
    return format === undefined ? extension : extensionOfCopy(format, extension)
  }

  /** A file that cannot hold metadata is delivered unchanged where the standard mapping is asked for. @throws {AppError} */
  function requestFor({ preset, custom, metadata: wish, extension, ...address }: WantedAsset): ListedDownload {
    const isPicture = preset !== undefined || custom !== undefined
    const own = custom ? [{ name: ownPreset, displayname: {}, custom }] : presets()
    const takes = strippable.has(extensionOf({ preset, custom, extension }))
    const metadata = wish === 'keep' || (wish === 'standard' && !takes) ? undefined : wish
    const name = custom ? ownPreset : preset
    return { address, transform: readTransformRequest({ ...(isPicture ? { preset: name } : {}), metadata }, own) }
  }

  function requestOrError(wanted: WantedAsset): ListedDownload | AppError {
    try {
      return requestFor(wanted)
    } catch (error) {
      if (error instanceof AppError) return error
      throw error
    }
  }

  return {
    /**
     * Finds deliveries, with the present rights of the actor, to be opened one after the other; the number of queries does not
     * grow with their number. Opening one throws as downloads do. The caller must call `end` of each afterwards.
     */
    async find(
      actor: Actor,
      wanted: readonly WantedAsset[],
      options: { readonly metadataIn: MetadataInObject; readonly signal: AbortSignal },
    ) {
      const requests = wanted.map(requestOrError)
      const known = requests.filter((one): one is ListedDownload => !(one instanceof AppError))
      const found = await downloads(actor, known, options)
      const openings = new Map(known.map((one, index) => [one, found[index]]))
      return requests.map((one) => async () => {
        const open = one instanceof AppError ? undefined : openings.get(one)
        if (!open) throw one
        return open()
      })
    },

    /**
     * The extension of the picture made from a version with this extension.
     * @throws {AppError} for a preset that no longer exists
     */
    extension: extensionOf,
  }
}
