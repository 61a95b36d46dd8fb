import type { SaveOptions } from './save.ts'

/** As a client saves who has nobody to ask: what a question offers is said beforehand, so far as that can be. */
export const unattended: Omit<SaveOptions, 'partial' | 'dryRun' | 'strict'> = {
  skipReverseNested: true,
  skipBidirectionalUpdate: false,
  skipIndex: false,
  skipConstraints: false,
  skipPlugins: false,
  skipEvents: false,
  revoke: true,
  confirmTransition: 'ALL',
  collection: undefined,
  collectionPolicy: 'setinvalid',
  reversePoolChangedMode: undefined,
}
