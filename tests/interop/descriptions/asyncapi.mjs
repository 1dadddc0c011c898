// Reads AsyncAPI documents with the official parser: `node asyncapi.mjs NODE_MODULES FILE…`. Prints what is wrong with them.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [modules, ...files] = process.argv.slice(2)
const { Parser } = createRequire(`${modules}/`)('@asyncapi/parser')
let wrong = 0
for (const file of files) {
    const { document, diagnostics } = await new Parser().parse(readFileSync(file, 'utf8'))
    // 0 is an error, 1 a warning; 2 and 3 are advice, such as to take a newer version.
    const faults = diagnostics.filter(({ severity }) => severity < 2)
    for (const { message, path } of faults) console.log(`${file}: ${path.join('/')}: ${message}`)
    if (!document) console.log(`${file}: it is no document`)
    wrong += faults.length + (document ? 0 : 1)
}
process.exit(wrong > 0 ? 1 : 0)
