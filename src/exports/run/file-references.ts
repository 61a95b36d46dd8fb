/** References to files in documents. */
import type { FileChoice } from '../../formats/service.ts'
import type { ObjectVersion } from '../../objects/service.ts'
import { assetsOfObjects } from '../files.ts'
import { type ExportFile, pathOf } from '../model.ts'
import type { RunDeps, Running } from './model.ts'

export type FileReferences = ReturnType<typeof fileReferences>

/**
 * The paths of exported files relative to the document, and the addresses of the versions that the export asks for. The files of
 * a list of objects are loaded before the list is written.
 */
export function fileReferences({ db }: Pick<RunDeps, 'db'>, { stored: { body }, run }: Running) {
  /** The list that is being written, and the one before: a writer may still have some of that. */
  let known: readonly ReadonlyMap<string, readonly ExportFile[]>[] = []
  const key = (systemObjectId: number, fileId: number, field: string) => `${systemObjectId} ${fileId} ${field}`

  async function load(objects: readonly ObjectVersion[]): Promise<void> {
    const ids = objects.map(({ systemObjectId }) => systemObjectId)
    const byFile = Map.groupBy(await assetsOfObjects(db, run.id, ids), ({ systemObjectId, source }) =>
      key(systemObjectId ?? 0, source?.fileId ?? 0, source?.field ?? ''),
    )
    known = [byFile, ...known].slice(0, 2)
  }

  const choice: FileChoice = (file, place) => {
    const own = body.eas_fields ?? {}
    if (!Object.hasOwn(own, place.field)) return null
    const versions: Record<string, { path?: string; url?: string }> = {}
    const name = key(place.object.systemObjectId, Number(file._id), place.field)
    for (const asset of known.map((map) => map.get(name)).find((list) => list !== undefined) ?? []) {
      versions[labelOf(asset)] = { path: pathOf(asset) }
    }
    for (const wanted of own[place.field]?.data ?? []) {
      const version = nameOfVersion(wanted, `${file.class}`)
      const shown =
        version === null ? undefined : (file.versions as Record<string, { url?: string } | undefined>)?.[version]
      if (version !== null && shown?.url !== undefined) versions[version] = { ...versions[version], url: shown.url }
    }
    return { versions }
  }

  return { load, choice }
}

/** The name of a version in a document; a picture made by the export has the name of its preset. */
function labelOf({ source }: ExportFile): string {
  return source?.preset ?? (source?.custom ? 'custom' : (source?.version ?? 'original'))
}

function nameOfVersion(
  { type, version = '' }: { readonly type: string; readonly version?: string | undefined },
  kind: string,
): string | null {
  if (type !== 'version') return 'original'
  const [first = '', second] = version.split('.')
  if (second === undefined) return first
  return first === kind ? second : null
}
