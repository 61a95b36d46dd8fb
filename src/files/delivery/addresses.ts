import type { FileVersion, StoredFile } from '../model.ts'
import type { Signatures } from './signatures.ts'

/** Signed addresses of versions. */
export type Addresses = ReturnType<typeof createAddresses>

export function createAddresses({
  externalUrl,
  signatures,
}: {
  readonly externalUrl: string
  readonly signatures: Pick<Signatures, 'sign'>
}) {
  const signed = (file: StoredFile, version: FileVersion, seconds: number): string =>
    signatures.sign({ fileId: file.id, hash: version.sha256, version: version.name }, seconds)

  return {
    /** Where the content is downloaded; `object`: uuid of the one whose name for it is to be given. */
    download(file: StoredFile, version: FileVersion, seconds: number, object: string | null): string {
      const path = `${file.id}/${version.sha256}/${encodeURIComponent(version.name)}`
      const named = object === null ? '' : `&obj_uuid=${encodeURIComponent(object)}`
      return `${externalUrl}/api/v1/eas/download/${path}?x-svc-signature=${signed(file, version, seconds)}${named}`
    },

    /** Where viewers find parts of a picture: the signature stands in the path, behind which they put theirs. */
    viewer(file: StoredFile, version: FileVersion, seconds: number, kind: 'iiif' | 'zoom'): string {
      const path = `${file.id}/${version.sha256}/${signed(file, version, seconds)}/${encodeURIComponent(version.name)}`
      return `${externalUrl}/api/v1/eas/${kind}/${path}`
    },
  }
}
