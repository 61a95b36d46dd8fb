import { fileDeepLink } from '../../platform/values/deep-link.ts'
import type { FileVersion, StoredFile } from '../model.ts'
import type { Signatures } from './signatures.ts'

export interface VersionAddresses {
  /** The address for downloads of the content. */
  readonly download: string
  /** The address for image viewers. The signature is a segment of the path, so that viewers can append their own segments. */
  readonly viewer: (kind: 'iiif' | 'zoom') => string
}

/** Signed addresses of versions. */
export type Addresses = ReturnType<typeof createAddresses>

export function createAddresses({
  externalUrl,
  signatures,
}: {
  readonly externalUrl: string
  readonly signatures: Pick<Signatures, 'until' | 'sign'>
}) {
  return {
    until: signatures.until,

    /** The address of a version by its object, without a signature: it is the same for all callers. */
    deepLink: (file: Pick<StoredFile, 'id'>, version: Pick<FileVersion, 'name'>, uuid: string): string =>
      fileDeepLink(externalUrl, uuid, file.id, version.name),

    /**
     * The addresses of a version, with one signature until then. `object`: uuid of the object whose name for the file is
     * to be used.
     */
    of(file: StoredFile, version: FileVersion, until: number, object: string | null): VersionAddresses {
      const signature = signatures.sign({ fileId: file.id, hash: version.sha256, version: version.name }, until)
      const name = encodeURIComponent(version.name)
      const viewer = (kind: 'iiif' | 'zoom'): string =>
        `${externalUrl}/api/v1/eas/${kind}/${file.id}/${version.sha256}/${signature}/${name}`
      const named = object === null ? '' : `&obj_uuid=${encodeURIComponent(object)}`
      const content = `${file.id}/${version.sha256}/${name}?x-svc-signature=${signature}${named}`
      return { download: `${externalUrl}/api/v1/eas/download/${content}`, viewer }
    },
  }
}
