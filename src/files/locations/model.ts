import type { Secret } from '../../platform/secrets/sealed-texts.ts'
import type { S3Config } from '../blobs/s3.ts'

/** A bucket as it is set up; the secret key may be sealed with a key that is not here. */
export type BucketConfig = Omit<S3Config, 'secretkey'> & { readonly secretkey: Secret }

/** A place for contents of files, as administrators set it up. */
export type Location = {
  readonly id: number
  readonly createdAt: Date
  readonly name: string
  /** The beginning of the name of each content. */
  readonly prefix: string
  readonly allowPurge: boolean
  /** Nothing is stored there any more, and nothing removed. */
  readonly readOnly: boolean
} & LocationStorage

export type LocationStorage =
  | { readonly kind: 'file'; readonly config: { readonly dir: string } }
  | { readonly kind: 's3'; readonly config: BucketConfig }

export type LocationDraft = Omit<Location, 'id' | 'createdAt'> & LocationStorage
