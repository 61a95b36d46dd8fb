import type { Secret } from '../../platform/secrets/sealed-texts.ts'
import type { S3Config } from '../blobs/s3.ts'

/** The configuration of a bucket. Its secret key may be sealed with a key that this instance does not have. */
export type BucketConfig = Omit<S3Config, 'secretkey'> & { readonly secretkey: Secret }

/** A location for contents of files, as configured by administrators. */
export type Location = {
  readonly id: number
  readonly createdAt: Date
  readonly name: string
  /** The beginning of the name of each content. */
  readonly prefix: string
  readonly allowPurge: boolean
  /** No content may be added there or removed. */
  readonly readOnly: boolean
} & LocationStorage

export type LocationStorage =
  | { readonly kind: 'file'; readonly config: { readonly dir: string } }
  | { readonly kind: 's3'; readonly config: BucketConfig }

export type LocationDraft = Omit<Location, 'id' | 'createdAt'> & LocationStorage
