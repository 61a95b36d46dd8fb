import { join } from 'node:path'
import { opened } from '../../platform/secrets/sealed-texts.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createFileSystemStore } from '../blobs/file-system.ts'
import { createLazyStore } from '../blobs/lazy.ts'
import { type FolderRules, folderOf } from './draft.ts'
import type { LocationStorage } from './model.ts'

/** S3 needs packages that are not installed with the service: they are large, and most installations have no bucket. */
async function loadS3() {
  try {
    return await import('../blobs/s3.ts')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error('S3 needs the packages @aws-sdk/client-s3 and @aws-sdk/lib-storage beside the service.', { cause })
  }
}

/** Opens the store for the contents of a location. */
export function openStore(place: LocationStorage & { readonly prefix: string }, folders: FolderRules): BlobStore {
  if (place.kind === 's3') {
    const { config, prefix } = place
    return createLazyStore(async () => {
      const secretkey = opened(config.secretkey, 'The secret key of the location')
      return (await loadS3()).createS3Store({ ...config, secretkey }, prefix, {
        folder: join(folders.dataDir, 'work'),
      })
    })
  }
  // A location may come from a backup that another person has made: its folder with its prefix must be an allowed one,
  // too.
  return createFileSystemStore(folderOf(join(place.config.dir, place.prefix), folders))
}
