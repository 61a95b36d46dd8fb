import type { BaseConfig } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { type FileVersion, original, originalOf, type StoredFile } from '../model.ts'
import type { WithRecipes } from '../renditions/recipes/added.ts'
import type { Records } from '../shown/service.ts'

/** A version by its name, or the first existing one of a group of recipes. */
export type WantedVersion = { readonly name: string } | { readonly group: string }

export interface ChosenVersionDeps {
  readonly records: Pick<Records, 'known'>
  readonly settings: () => WithRecipes<Pick<BaseConfig, 'produce_config'>>
}

/**
 * The version of a file that the actor wants to download, as addresses name it; null: there is no such file. The answer
 * reveals whether a version exists only to callers who might download it.
 * @throws {AppError} `ObjectInsufficientAssetDownloadRight`, `FileVersionNotAvailable`, `FileGroupNotAvailable`
 */
export function createChosenVersion({ records, settings }: ChosenVersionDeps) {
  return async (
    actor: Actor,
    fileId: number,
    wanted: WantedVersion | null,
  ): Promise<{ readonly fileId: number; readonly hash: string; readonly version: string } | null> => {
    const [known] = await records.known(actor, [fileId])
    if (!known) return null
    const { file, access } = known
    const versionOf = (name: string): FileVersion | undefined => file.versions.find((one) => one.name === name)
    const names = wanted && 'group' in wanted ? groupOf(file, wanted.group) : [wanted?.name ?? original]
    const allowed = names.filter((name) => access.may('asset_download', versionOf(name) ?? { name }))
    if (allowed.length === 0 && (names.length > 0 || !access.any)) {
      throw new AppError('ObjectInsufficientAssetDownloadRight', { fileId, version: names[0] ?? '' })
    }
    for (const name of allowed) {
      const version = versionOf(name)
      if (version) return { fileId, hash: version.sha256, version: name }
    }
    if (wanted && 'group' in wanted) throw new AppError('FileGroupNotAvailable', { fileId, group: wanted.group })
    throw new AppError('FileVersionNotAvailable', { fileId, version: names[0] ?? '' })
  }

  /** Names of the versions that recipes of the group make of such files, in their order. */
  function groupOf(file: StoredFile, group: string): string[] {
    const { class: kind } = originalOf(file)
    if (kind === 'unknown') return []
    const { versions } = settings().produce_config.value.classes[kind]
    return versions.filter((recipe) => recipe.group === group).map(({ name }) => name)
  }
}
